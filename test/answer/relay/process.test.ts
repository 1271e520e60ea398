/** The relay's image and manifests, as far as they can be tried without a container runtime: process and permissions. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { kubeconfigText } from "../../../infra/sandbox/index.ts";
import { type FakeWorker, SECRET } from "./fake-worker.ts";
import { type Image, layOutImage, type RelayProcess, runRelay } from "../../support/relay/image.ts";
import { brief, soon, type Stage, startStage } from "./stage.ts";

let image: Image;
beforeAll(async () => {
  image = await layOutImage();
});
afterAll(() => image.remove());

let running: RelayProcess | undefined;
let stage: Stage | undefined;
afterEach(async () => {
  running?.child.kill("SIGKILL");
  await running?.exited;
  await stage?.stop();
  [running, stage] = [undefined, undefined];
});

async function start(
  kubeconfig: string,
  { url }: FakeWorker,
): Promise<{ relay: RelayProcess; probe: (path: string) => Promise<Response> }> {
  const file = join(image.folder, "kubeconfig");
  await writeFile(file, kubeconfig);
  const site = { LIFEBOAT_URL: url, LIFEBOAT_CLUSTER: "sandbox", LIFEBOAT_RELAY_SECRET: SECRET };
  running = runRelay(image, { ...site, KUBECONFIG: file, PORT: "0" });
  const port = await running.port();
  return { relay: running, probe: (path) => fetch(`http://127.0.0.1:${port}${path}`) };
}

describe("the image", () => {
  test("starts by itself, and names what is missing in the environment", async () => {
    running = runRelay(image, {});
    expect(await running.exited).toBe(2);
    expect(running.lines).toMatchObject([
      { level: "error", message: "invalid environment", variable: "LIFEBOAT_URL" },
      { level: "error", message: "invalid environment", variable: "LIFEBOAT_CLUSTER" },
      { level: "error", message: "invalid environment", variable: "LIFEBOAT_RELAY_SECRET" },
    ]);
  });

  test("does its work with the permissions of its manifests, and ends when told to", async () => {
    stage = await startStage();
    const launcher = await stage.createPod("virt-launcher-a");
    const { url, caPem } = stage.sandbox;
    const kubeconfig = kubeconfigText({ url, caPem, user: "lifeboat-relay", token: await stage.install() });
    const { relay, probe } = await start(kubeconfig, stage.worker);
    await expect.poll(async () => (await probe("/readyz")).status, { timeout: 15_000 }).toBe(200);
    expect((await probe("/healthz")).status).toBe(200);
    expect((await probe("/else")).status).toBe(404);

    await stage.preempt(launcher);
    const told = stage.worker;
    await soon(() => expect(brief(told.taken())).toEqual(["pod.disrupted vms/virt-launcher-a"]));
    await expect.poll(() => metric(probe, 'deliveries_total{lane="urgent",result="accepted"}')).toBe(1);
    expect(relay.lines.filter(({ level }) => level !== "info")).toEqual([]);

    relay.signal("SIGTERM");
    expect(await relay.exited).toBe(0);
    expect(relay.output()).not.toContain(SECRET.slice(6));
  });
});

async function metric(probe: (path: string) => Promise<Response>, name: string): Promise<number> {
  const line = (await (await probe("/metrics")).text())
    .split("\n")
    .find((text) => text.includes(name) && !text.startsWith("#"));
  return Number(line?.split(" ").at(-1));
}
