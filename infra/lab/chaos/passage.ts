/** Lifeboat's Service, as the API server knows it: behind it, one replica after another, whose TLS it does not open. */
import { connect, createServer, type Socket } from "node:net";
import type { Answering, Front } from "./front.ts";
import { listenOnLoopback } from "./listen.ts";

export async function startPassage(): Promise<Front & { readonly port: number }> {
  const open = new Map<Socket, string>();
  const front = { answering: (): Answering | undefined => undefined };

  const pass = ({ name, url }: Answering, socket: Socket): void => {
    const behind = connect(Number(new URL(url).port), "127.0.0.1");
    open.set(socket, name);
    socket.on("close", () => open.delete(socket));
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      one.on("error", () => undefined);
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  };

  const server = createServer((socket) => {
    const answering = front.answering();
    if (answering === undefined) socket.destroy();
    else pass(answering, socket);
  });
  const drop = (isMeant: (name: string) => boolean) => {
    for (const [socket, by] of open) if (isMeant(by)) socket.destroy();
  };
  const port = await listenOnLoopback(server);
  return {
    get answering() {
      return front.answering;
    },
    set answering(answering) {
      front.answering = answering;
    },
    // What has not been answered in time cannot be seen from here.
    late: 0,
    url: `https://127.0.0.1:${port}`,
    port,
    drop: (name) => drop((by) => by === name),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      drop(() => true);
      await closed;
    },
  };
}
