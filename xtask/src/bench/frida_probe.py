"""One native probe of Frida's at an address of another process, put there and taken away on command.

frida_probe.py PID ADDRESS, then commands, one a line, each answered by a line that begins with it:
  attach        the probe stands
  detach        it is gone
  hits          how often it ran
"""

import sys

import frida

SOURCE = """
const hits = Memory.alloc(8);
const code = new CModule(`
#include <gum/guminterceptor.h>
extern volatile guint64 hits;
void probe(GumInvocationContext * ic) { hits++; }
`, { hits });
let probe = null;
rpc.exports = {
  attach(address) {
    probe = Interceptor.attach(ptr(address), code.probe);
    Interceptor.flush();
  },
  detach() {
    probe.detach();
    Interceptor.flush();
  },
  hits() {
    return hits.readU64().toNumber();
  },
};
"""


def main():
    process, address = int(sys.argv[1]), sys.argv[2]
    session = frida.attach(process)
    script = session.create_script(SOURCE)
    script.load()
    calls = script.exports_sync
    print("ready", frida.__version__, flush=True)
    for line in sys.stdin:
        command = line.strip()
        if command == "attach":
            calls.attach(address)
            print("attach", flush=True)
        elif command == "detach":
            calls.detach()
            print("detach", flush=True)
        elif command == "hits":
            print("hits", calls.hits(), flush=True)
        else:
            sys.exit(f"unknown command {command!r}")


main()
