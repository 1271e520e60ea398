/**
 * Tests the process of the relay's image, and that the permissions in its manifests are sufficient. The test needs no
 * container runtime.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { kubeconfigText } from "../../../infra/sandbox/index.ts";
import { type Image, layOutImage, type RelayProcess, runRelay } from "../../support/relay/image.ts";
import { startHttpServer } from "../../support/stub-server.ts";
import { SECRET } from "./fake-worker.ts";
import { soon, startStage } from "./stage.ts";

let image: Image;
let relay: RelayProcess | undefined;
beforeAll(async () => {
  image = await layOutImage();
});
afterEach(async () => {
  relay?.child.kill("SIGKILL");
  await relay?.exited;
});
afterAll(() => image.remove());

test("the image starts, and names missing variables of its environment", async () => {
  relay = runRelay(image, {});
  expect(await relay.exited).toBe(2);
  expect(relay.lines).toMatchObject([
    { level: "error", message: "invalid environment", variable: "LIFEBOAT_URL" },
    { level: "error", message: "invalid environment", variable: "LIFEBOAT_CLUSTER" },
    { level: "error", message: "invalid environment", variable: "LIFEBOAT_RELAY_SECRET" },
  ]);
});

test("the image works with the permissions of its manifests, and ends on SIGTERM", async () => {
  const stage = await startStage();
  onTestFinished(() => stage.stop());
  const server = await startHttpServer(async ({ path, method, headers, body: sent }, response) => {
    const init = { method, headers, body: JSON.stringify(sent), redirect: "manual" } as const;
    const { status } = await stage.worker.fetch(new URL(path, server.url), init);
    response.writeHead(status).end();
  });
  onTestFinished(() => server.stop());
  const launcher = await stage.createPod("virt-launcher-a");
  const KUBECONFIG = join(image.folder, "kubeconfig");
  await writeFile(KUBECONFIG, kubeconfigText(stage.credentials));
  const site = { LIFEBOAT_URL: server.url, LIFEBOAT_CLUSTER: "sandbox", LIFEBOAT_RELAY_SECRET: SECRET };
  relay = runRelay(image, { ...site, KUBECONFIG, PORT: "0" });
  const port = await relay.port();
  const probe = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  await expect.poll(async () => (await probe("/readyz")).status).toBe(200);
  expect((await probe("/healthz")).status).toBe(200);
  expect((await probe("/else")).status).toBe(404);

  await stage.preempt(launcher);
  await soon(() => expect(stage.reported()).toEqual(["pod.disrupted vms/virt-launcher-a"]));
  expect(server.requests.map(({ path }) => path)).toEqual(["/clusters/sandbox/events"]);
  const metrics = async () => (await probe("/metrics")).text();
  await expect.poll(metrics).toContain('deliveries_total{lane="urgent",result="accepted"} 1\n');
  expect(relay.lines.filter(({ level }) => level !== "info")).toEqual([]);

  relay.signal("SIGTERM");
  expect(await relay.exited).toBe(0);
  expect(relay.output()).not.toContain(SECRET.slice(6));
});
