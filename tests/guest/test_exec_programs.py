"""Ordinary programs over a path: each row of the table in docs/exec.md, where it is installed.

What is here is what a user would write: a command line, and no word of netwarp's beyond `server`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from guest.over_a_path import run_over_a_path, skip_without
from guest.test_exec_services import SERVICES

REPOSITORY = Path(__file__).parents[2]
CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj"
    " /CN=server -keyout /tmp/key.pem -out /tmp/cert.pem 2>/dev/null"
)
NGINX = (
    "daemon off; pid /tmp/nginx.pid; events {} http { access_log off; server { listen 443 ssl"
    " http2; ssl_certificate /tmp/cert.pem; ssl_certificate_key /tmp/key.pem; root /tmp/www; } }"
)
SSHD = (
    "mkdir -p /run/sshd ~/.ssh; ssh-keygen -q -t ed25519 -N '' -f /tmp/host;"
    " ssh-keygen -q -t ed25519 -N '' -f /tmp/me; cp /tmp/me.pub /tmp/authorized; chmod 600 /tmp/me;"
    " exec /usr/sbin/sshd -D -h /tmp/host -o UsePAM=no -o StrictModes=no"
    " -o AuthorizedKeysFile=/tmp/authorized -o PermitRootLogin=yes"
)
JAVA = (
    "import com.sun.net.httpserver.*; import java.net.*; public class Hello { public static void"
    " main(String[] none) throws Exception { var server = HttpServer.create(new"
    ' InetSocketAddress(80), 0); server.createContext("/", asked -> {'
    ' asked.sendResponseHeaders(200, 5); asked.getResponseBody().write("hello".getBytes());'
    " asked.close(); }); server.start(); } }"
)
QUIET = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
HAPROXY = (
    "defaults\\n mode http\\n timeout client 9s\\n timeout server 9s\\n timeout connect 9s\\n"
    "listen here\\n bind :80\\n balance roundrobin\\n server a 127.0.0.1:81\\n"
    " server b 127.0.0.1:82\\n"
)


@dataclass(frozen=True)
class Row:
    """A row of the table: programs of the machine, and what the client prints."""

    needs: tuple[str, ...]
    server: str
    client: str
    printed: str
    ready: str = "listening"
    options: tuple[str, ...] = ()


ROWS = {
    "python3 and curl": Row(
        ("python3", "curl"),
        "exec python3 -m http.server 80",
        "curl -sSo /dev/null -w '%{size_download}' http://server/content",
        "300000",
    ),
    "wget": Row(
        ("python3", "wget"),
        "exec python3 -m http.server 80",
        "wget -qO- http://server/content | wc -c",
        "300000",
    ),
    "Caddy": Row(
        ("caddy", "curl"),
        "exec caddy file-server --listen :80",
        "curl -sSo /dev/null -w '%{size_download}' http://server/content",
        "300000",
    ),
    "nginx, HTTP/2": Row(
        ("nginx", "openssl", "curl"),
        f"{CERTIFICATE}; mkdir /tmp/www; cp content /tmp/www; chmod -R a+rX /tmp/www;"
        f" echo '{NGINX}' > /tmp/nginx.conf; exec nginx -e stderr -c /tmp/nginx.conf",
        "curl -sSko /dev/null -w '%{http_version} %{size_download}' https://server/content",
        "2 300000",
    ),
    "openssl": Row(
        ("openssl",),
        f"{CERTIFICATE}; exec openssl s_server -quiet -accept 443 -key /tmp/key.pem -cert"
        " /tmp/cert.pem -WWW",
        "printf 'GET /content HTTP/1.0\\r\\n\\r\\n' | openssl s_client -quiet -connect server:443"
        " 2>/dev/null | wc -c",
        r"3000\d\d",
    ),
    "ngtcp2": Row(
        ("gtlsserver", "gtlsclient", "openssl"),
        f"{CERTIFICATE}; exec gtlsserver -q -d . '*' 4433 /tmp/key.pem /tmp/cert.pem",
        "gtlsclient -q --exit-on-all-streams-close --download /tmp server 4433"
        " https://server/content && wc -c < /tmp/content",
        "300000",
    ),
    "redis": Row(
        ("redis-server", "redis-cli"),
        "exec redis-server --bind 0.0.0.0 --protected-mode no --save '' --dir /tmp",
        "redis-cli -h server set colour blue && redis-cli -h server get colour",
        "OK\nblue",
        "port:6379",
    ),
    "PostgreSQL": Row(
        ("psql", "/usr/lib/postgresql/15/bin/postgres", "setpriv"),
        "mkdir -m 777 /tmp/db; as() { setpriv --reuid postgres --regid postgres --clear-groups"
        " /usr/lib/postgresql/15/bin/$*; }; as initdb -A trust -D /tmp/db/data >/tmp/log;"
        " echo 'host all all all trust' >> /tmp/db/data/pg_hba.conf;"
        " as postgres -D /tmp/db/data -h 0.0.0.0 -k /tmp/db",
        "PAGER=cat psql -h server -U postgres -Atc 'select 6 * 7'",
        "42",
        "port:5432",
    ),
    "ssh and scp": Row(
        ("/usr/sbin/sshd", "ssh", "scp", "ssh-keygen"),
        SSHD,
        f"scp -q -i /tmp/me {QUIET} content root@server:/tmp/copy &&"
        f" ssh -i /tmp/me {QUIET} root@server 'wc -c < /tmp/copy'",
        "300000",
        "port:22",
        options=("--shared",),  # the server makes the client's key
    ),
    "git": Row(
        ("git",),
        "git init -q --bare /tmp/r/x.git && exec git daemon --export-all --base-path=/tmp/r",
        "git clone -q git://server/x.git /tmp/y 2>/dev/null && ls -A /tmp/y",
        r"\.git",
        "port:9418",
    ),
    "rsync": Row(
        ("rsync",),
        "mkdir -p /tmp/served; cp content /tmp/served;"  # which its user, nobody, may read
        " printf '[files]\\npath = /tmp/served\\nuse chroot = no\\n' > /tmp/rsyncd.conf;"
        " exec rsync --daemon --no-detach --config=/tmp/rsyncd.conf",
        "rsync -q rsync://server/files/content /tmp/copy && wc -c < /tmp/copy",
        "300000",
        "port:873",
    ),
    "iperf3": Row(
        ("iperf3",),
        "exec iperf3 -s",
        "iperf3 -c server -R -t 2 -f m | tail -n 3 | head -n 1 | grep -c Mbits",
        "1",
        "port:5201",
    ),
    "iperf3, upwards": Row(
        ("iperf3",),
        "exec iperf3 -s",
        "iperf3 -c server -t 1 -f m | tail -n 3 | head -n 1 | grep -c Mbits",
        "1",
        "port:5201",
    ),
    "Java": Row(
        ("java", "javac"),
        f"echo '{JAVA}' > /tmp/Hello.java; exec java /tmp/Hello.java",
        "curl -s http://server/",
        "hello",
    ),
    "Node.js": Row(
        ("node",),
        "exec node -e \"require('http').createServer((q, a) => a.end('hello')).listen(80)\"",
        "node -e \"fetch('http://server/').then(a => a.text()).then(t => console.log(t))\"",
        "hello",
    ),
    "ping": Row(
        ("ping",),
        "exec sleep 1000",
        "ping -qc 3 server | tail -n 2 && ping -qc 1 router | tail -n 1",
        r"3 packets transmitted, 3 received, 0% packet loss, time 200\dms\n"
        r"rtt min/avg/max/mdev = 100\.0\d\d/.*\nrtt min/avg/max/mdev = 50\.0\d\d/.*",
        "file:/etc/hosts",
    ),
    "mtr": Row(
        ("mtr",),
        "exec sleep 1000",
        "mtr -nrc 3 server | awk 'NR > 2 { print $2, $6 }'",
        r"10\.0\.1\.254 50\.\d\n10\.0\.2\.1 100\.\d",
        "file:/etc/hosts",
    ),
    "dnsmasq and dig": Row(
        ("dnsmasq", "dig"),
        "exec dnsmasq -k -u root --no-resolv --no-hosts --address=/name.test/192.0.2.7",
        "dig +short @server name.test",
        r"192\.0\.2\.7",
        "port:53",
    ),
    "sockperf": Row(
        ("sockperf",),
        "exec sockperf server --no-rdtsc -p 80",
        "sockperf ping-pong --no-rdtsc -i 10.0.2.1 -p 80 -t 5 | grep -o 'avg-latency=[0-9]*'",
        r"avg-latency=500\d\d",
    ),
    "MariaDB": Row(
        ("mariadbd", "mariadb", "mariadb-install-db"),
        "mkdir -m 777 /tmp/db; mariadb-install-db --user=root --datadir=/tmp/db"
        " --auth-root-authentication-method=normal >/tmp/log 2>&1; exec mariadbd --user=root"
        " --datadir=/tmp/db --socket=/tmp/s --pid-file=/tmp/pid --skip-grant-tables"
        " --bind-address=0.0.0.0 --port=3306",
        "mariadb -Nh server -e 'select 6*7'",
        "42",
        "port:3306",
        ("--set", "workload.coarse_clocks=exact"),
    ),
    "haproxy": Row(
        ("haproxy", "python3", "curl"),
        "mkdir /tmp/a /tmp/b; echo a > /tmp/a/name; echo b > /tmp/b/name;"
        " python3 -m http.server 81 -d /tmp/a & python3 -m http.server 82 -d /tmp/b &"
        f" printf '{HAPROXY}' > /tmp/haproxy.cfg; sleep 1; exec haproxy -f /tmp/haproxy.cfg",
        "curl -s http://server/name http://server/name | sort",
        "a\nb",
        "port:80",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_program_works_over_a_path(tmp_path: Path, name: str) -> None:
    row = ROWS[name]
    skip_without(row.needs)
    (tmp_path / "content").write_bytes(bytes(300_000))
    options = ("--memory", "2GiB", "--ready", row.ready, *row.options, "--server", row.server)
    told = run_over_a_path(tmp_path, row.client, *options)
    assert re.fullmatch(row.printed, told["client"]["stdout"].strip())


def test_the_table_of_programs_is_that_of_the_tests() -> None:
    text = (REPOSITORY / "docs" / "exec.md").read_text(encoding="utf-8")
    table = text.partition("## Programs that are tried")[2].partition("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    assert rows[2:] == [*ROWS, *SERVICES]
