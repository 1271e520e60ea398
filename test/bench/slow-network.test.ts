/** A network that takes its time loses nothing and changes no order. */
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSlowNetwork } from "../../infra/bench/slow-network.ts";

const ROUND_TRIP_MS = 20;
let echo: Server;
let port = 0;

beforeAll(async () => {
  echo = createServer((socket) => void socket.pipe(socket)).listen(0, "127.0.0.1");
  await once(echo, "listening");
  const address = echo.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  port = await startSlowNetwork(address.port, ROUND_TRIP_MS);
});
afterAll(() => void echo.close());

test("what is sent comes back whole, in order, and no sooner than a round trip later", async () => {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  const sent = Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join("");
  const begin = performance.now();
  for (const line of sent.match(/.*\n/g) ?? []) socket.write(line);
  let received = "";
  while (received.length < sent.length) received += (await once(socket, "data")).join("");
  expect(received).toBe(sent);
  // Timers may fire up to a millisecond early.
  expect(performance.now() - begin).toBeGreaterThanOrEqual(ROUND_TRIP_MS - 2);
  socket.destroy();
});

test("a client that hangs up is hung up on", async () => {
  const accepted = once(echo, "connection");
  const socket = connect(port, "127.0.0.1");
  const [far] = await accepted;
  const closed = once(far, "close");
  socket.destroy();
  await closed;
});
