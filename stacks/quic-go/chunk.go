package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/quic-go/quic-go"
)

// A request names a chunk of a transfer. Both ends have the job, and so know everything else.
const requestBytes = 16

// confirmation says that the receiver has everything (ASCII's ACK).
const confirmation = 0x06

const blockBytes = 64 << 10

func encodeRequest(transfer, chunk uint64) []byte {
	encoded := binary.BigEndian.AppendUint64(nil, transfer)
	return binary.BigEndian.AppendUint64(encoded, chunk)
}

func decodeRequest(stream io.Reader) (transfer, chunk uint64, err error) {
	var encoded [requestBytes]byte
	if _, err = io.ReadFull(stream, encoded[:]); err != nil {
		return 0, 0, fmt.Errorf("read a request: %w", err)
	}
	return binary.BigEndian.Uint64(encoded[:]), binary.BigEndian.Uint64(encoded[8:]), nil
}

// role is one side of a run.
type role struct {
	*orchestrator
	side    string
	job     *job
	goodput goodputRecord
}

// sends returns whether this side sends the content.
func (r *role) sends() bool {
	return (r.job.Workload.Direction == "down") == (r.side == "server")
}

// move sends or receives a chunk, and returns its record.
func (r *role) move(stream *quic.Stream, transfer, chunk uint64) (*transferRecord, error) {
	asked := &r.job.Workload
	if transfer >= asked.Transfers || chunk >= asked.Chunks {
		return nil, fmt.Errorf("there is no chunk %d of transfer %d", chunk, transfer)
	}
	var hasher hash.Hash
	if asked.Verify {
		hasher = sha256.New()
	}
	done := &transferRecord{
		Record: "transfer", Side: r.side, Connection: transfer, Stream: chunk,
		Transfer: transfer, Chunk: chunk, Direction: asked.Direction,
	}
	offset, length := asked.part(chunk)
	done.Bytes = length
	var err error
	if r.sends() {
		err = r.send(stream, offset, length, hasher, done)
	} else {
		err = r.receive(stream, length, hasher, done)
	}
	if err == nil && hasher != nil {
		digest := hex.EncodeToString(hasher.Sum(nil))
		done.SHA256 = &digest
	}
	return done, err
}

func (r *role) send(stream *quic.Stream, offset, length uint64, hasher hash.Hash, done *transferRecord) error {
	source, err := r.job.Workload.Content.open(offset, length)
	if err != nil {
		return err
	}
	defer source.Close()
	var read io.Reader = source
	if hasher != nil {
		read = io.TeeReader(source, hasher)
	}
	done.FirstByteNS = r.nowNS()
	if _, err := io.CopyBuffer(struct{ io.Writer }{stream}, read, make([]byte, blockBytes)); err != nil {
		return fmt.Errorf("send the content: %w", err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(stream, answer[:]); err != nil || answer[0] != confirmation {
		return fmt.Errorf("wait for the receiver's confirmation: got %x, %w", answer, err)
	}
	done.LastByteNS = r.nowNS()
	return nil
}

func (r *role) receive(stream *quic.Stream, length uint64, hasher hash.Hash, done *transferRecord) error {
	buffer := make([]byte, blockBytes)
	for left := length; left > 0; {
		count, err := stream.Read(buffer[:min(uint64(len(buffer)), left)])
		if count > 0 && left == length {
			done.FirstByteNS = r.nowNS()
		}
		if count > 0 && r.job.isRecordedOverTime() {
			r.goodput.count(r.nowNS(), uint64(count))
		}
		if hasher != nil {
			hasher.Write(buffer[:count])
		}
		left -= uint64(count)
		if err != nil && left > 0 {
			return fmt.Errorf("receive the content, %d bytes before its end: %w", left, err)
		}
	}
	done.LastByteNS = r.nowNS()
	if _, err := stream.Write([]byte{confirmation}); err != nil {
		return fmt.Errorf("confirm the content: %w", err)
	}
	return nil
}
