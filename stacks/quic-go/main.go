// Command role is quic-go as server or client of a netwarp run: by the role protocol (docs/role-protocol.md), or, without
// arguments, by the contract of the QUIC interop runner.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

// usualPort is the UDP port at which the server listens, unless it is told another one.
const usualPort = 4433

func main() {
	if len(os.Args) == 1 && os.Getenv("ROLE") != "" {
		os.Exit(interop())
	}
	if len(os.Args) < 2 || (os.Args[1] != "server" && os.Args[1] != "client") {
		fmt.Fprintln(os.Stderr, "usage: role server|client --job FILE --address ADDRESS [--port PORT]")
		os.Exit(2)
	}
	side := os.Args[1]
	options := flag.NewFlagSet(side, flag.ExitOnError)
	file := options.String("job", "", "the job")
	address := options.String("address", "", "the server's address")
	port := options.Int("port", usualPort, "the server's port")
	_ = options.Parse(os.Args[2:])
	started, err := openOrchestrator()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := work(started, side, *file, &net.UDPAddr{IP: net.ParseIP(*address), Port: *port}); err != nil {
		started.fail(side, err)
		os.Exit(1)
	}
	started.say(map[string]any{"message": "done"})
}

func work(started *orchestrator, side, file string, server *net.UDPAddr) error {
	read, err := readJob(file)
	if err != nil {
		return err
	}
	ours := &role{orchestrator: started, side: side, job: read, goodput: goodputRecord{Record: "goodput", StepNS: firstStepNS}}
	if side == "server" {
		err = ours.serve(server)
	} else {
		err = ours.drive(server)
	}
	if err == nil {
		ours.writeGoodput()
	}
	return err
}

// config returns a configuration with the job's windows from the start, so that quic-go need not grow them. Packets begin with
// quic-go's first size and grow by path MTU discovery. With another first size, its pacer and its congestion control would
// count packets of different sizes, and the connection would read the clock again and again until both agree
// (internal/congestion, newPacer).
func (r *role) config() *quic.Config {
	buffer := r.job.Transport.BufferBytes
	return &quic.Config{
		InitialStreamReceiveWindow: buffer, MaxStreamReceiveWindow: buffer,
		InitialConnectionReceiveWindow: buffer, MaxConnectionReceiveWindow: buffer,
		MaxIncomingStreams: int64(r.job.Workload.Chunks) + 1,
		MaxIdleTimeout:     time.Duration(r.job.Limits.VirtualNS),
		// The run ends at its own limit.
		HandshakeIdleTimeout: time.Duration(r.job.Limits.VirtualNS),
		Allow0RTT:            r.job.Transport.Resume == "0rtt",
	}
}
