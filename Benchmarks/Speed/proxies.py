"""The proxies of deploy/proxies, each in front of a server on this machine."""

import subprocess
import sys
import tempfile

from cluster import HERE, free_port


def programs():
    """Returns the folder of the proxies. If they are not available, prints the reason and returns None."""
    found = subprocess.run([f"{HERE}/../../scripts/tools", "proxies"], capture_output=True, text=True)
    if found.returncode != 0:
        print(found.stderr.strip(), file=sys.stderr)
        return None
    return found.stdout.strip()


class Proxy:
    """A proxy with the configuration in deploy/proxies, but with other ports. Only nginx gets higher limits for clients."""

    FILES = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg", "varnish": "varnish.vcl"}

    def __init__(self, cluster, name, port):
        self.port, self.tls_port, home = free_port(), free_port(), tempfile.mkdtemp(dir=cluster.home)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
             "-keyout", f"{home}/quakes.key", "-out", f"{home}/quakes.crt"], check=True, capture_output=True)
        with open(f"{home}/quakes.pem", "w") as both: # haproxy needs both in one file
            both.writelines(open(f"{home}/quakes.{part}").read() for part in ("crt", "key"))
        path = f"{home}/{self.FILES[name]}"
        with open(f"{HERE}/../../deploy/proxies/{self.FILES[name]}") as file:
            text = file.read()
        for old, new in (("127.0.0.1:8080", f"127.0.0.1:{port}"), ('"8080"', f'"{port}"'),
                         ("listen 80;", f"listen 127.0.0.1:{self.port} backlog=4096;"),
                         ("bind :80", f"bind 127.0.0.1:{self.port}"), ("/var/cache/nginx", home), ("/etc/ssl", home),
                         ("listen 443", f"listen 127.0.0.1:{self.tls_port}"), ("bind :443", f"bind 127.0.0.1:{self.tls_port}"),
                         # All clients have the same address here.
                         ("rate=20r/s", "rate=100000r/s"), ("burst=200 ", "burst=100000 "),
                         ("limit_conn quakes_connections 200;", "limit_conn quakes_connections 60000;")):
            text = text.replace(old, new)
        with open(path, "w") as file:
            file.write(text)
        with open(f"{home}/main.conf", "w") as file:
            file.write(f"""
                daemon off; user root; worker_processes 1; pid {home}/pid; worker_rlimit_nofile 65536;
                events {{ worker_connections 30000; }}
                http {{ access_log off; keepalive_requests 1000000; client_body_temp_path {home}/body;
                        proxy_temp_path {home}/temp; include {path}; }}""")
        command = {
            "nginx": ["nginx", "-e", f"{home}/log", "-c", f"{home}/main.conf"],
            "haproxy": ["haproxy", "-db", "-f", path],
            "varnish": ["varnishd", "-F", "-j", "none", "-n", f"{home}/varnish", "-T", "none", "-s", "malloc,256m",
                        "-p", "thread_pool_max=15000", "-p", "thread_pool_stack=64k", "-a", f"127.0.0.1:{self.port}", "-f", path],
        }[name]
        self.process = subprocess.Popen(
            [f"{programs()}/{command[0]}", *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
