/**
 * A network that takes its time: a TCP proxy that hands every chunk on later, in both directions.
 * Does not own: bandwidth and loss, which it does not have; what is in the bytes (TLS goes through).
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Resolves to the port of 127.0.0.1 that leads to `target`, half a round trip away each way. */
export async function startSlowNetwork(target: number, roundTripMs: number): Promise<number> {
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: target, host: "127.0.0.1", noDelay: true });
    carry(near, far, roundTripMs / 2);
    carry(far, near, roundTripMs / 2);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the slow network has no port");
  return address.port;
}

/** Timers of the same duration fire in the order in which they were set: chunks keep theirs. */
function carry(from: Socket, to: Socket, ms: number): void {
  from.on("data", (chunk) => setTimeout(() => to.writable && to.write(chunk), ms));
  from.on("close", () => setTimeout(() => to.destroy(), ms));
  from.on("error", () => from.destroy());
}
