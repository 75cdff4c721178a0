"""A remote shell between two hosts that exist on one machine only, for tests.

remote_shell.py serve                       on each host
remote_shell.py [-options] HOST COMMAND...  runs COMMAND there, in this directory, with these standard streams
"""
import os
import socket
import subprocess
import sys
import threading
import time

PORT = 5140


def first_line(connection):
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            break
        line += byte
    return line.decode().rstrip("\n")


def serve():
    server = socket.create_server(("", PORT))
    while True:
        connection, _ = server.accept()
        streams = {"stdin": connection, "stdout": connection, "stderr": connection}
        process = subprocess.Popen(["sh", "-c", first_line(connection)], start_new_session=True, **streams)
        threading.Thread(target=process.wait, daemon=True).start()
        connection.close()


def forward(connection):
    while data := os.read(0, 65536):
        connection.sendall(data)
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def connect(host):
    for _ in range(100):
        try:
            return socket.create_connection((host, PORT))
        except OSError:
            # The host is still starting.
            time.sleep(0.1)
    sys.exit(f"no answer from {host}")


def run(words):
    while words[0].startswith("-"):
        words.pop(0)
    connection = connect(words[0])
    connection.sendall(f"cd {os.getcwd()}; {' '.join(words[1:])}\n".encode())
    threading.Thread(target=forward, args=(connection,), daemon=True).start()
    while data := connection.recv(65536):
        os.write(1, data)
    os._exit(0)


if sys.argv[1] == "serve":
    serve()
run(sys.argv[1:])
