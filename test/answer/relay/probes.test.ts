/** Tests the port for probes and metrics. Any pod can connect to this port. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startProbes } from "../../../infra/relay/probes.ts";
import { createSteppedClock } from "../../../infra/sandbox/index.ts";

async function started(metrics: () => Promise<string>) {
  const clock = createSteppedClock();
  const probes = await startProbes({ isReady: () => true, metrics }, 0, clock);
  onTestFinished(() => probes.stop());
  return { clock, port: probes.port, ask: (path: string) => fetch(`http://127.0.0.1:${probes.port}${path}`) };
}

test("with many unfinished requests, the oldest connections are closed, and a probe is answered", async () => {
  const { port, ask } = await started(() => Promise.resolve(""));
  const oldest = connect(port, "127.0.0.1");
  const sockets: Socket[] = [oldest];
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  await once(oldest, "connect");
  oldest.write("GET /metrics HTTP/1.1\r\nX: ");
  const ended = once(oldest, "close");
  for (let count = 0; count < 800; count++) {
    sockets.push(connect(port, "127.0.0.1").on("error", () => undefined));
  }
  await ended;
  expect((await ask("/healthz")).status).toBe(200);
});

test("metrics are cached for 30 seconds", async () => {
  let reads = 0;
  const { clock, ask } = await started(() => Promise.resolve(`read_total ${++reads}\n`));
  const texts = async () => (await ask("/metrics")).text();
  expect(await Promise.all([texts(), texts(), texts()])).toEqual(Array(3).fill("read_total 1\n"));
  clock.advance(29_999);
  expect(await texts()).toBe("read_total 1\n");
  clock.advance(1);
  expect(await texts()).toBe("read_total 2\n");
});

test("metrics that cannot be read are answered 503, and are read again", async () => {
  let isRefused = true;
  const { clock, ask } = await started(() => (isRefused ? Promise.reject(new Error("refused")) : Promise.resolve("")));
  expect((await ask("/metrics")).status).toBe(503);
  isRefused = false;
  clock.advance(30_000);
  expect((await ask("/metrics")).status).toBe(200);
});
