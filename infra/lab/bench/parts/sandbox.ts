/** The sandbox's API server, full: memory, reads, lists, and a change on its way to many watchers. */
import type { KubeClient } from "../../../sandbox/actors/client.ts";
import * as core from "../../../sandbox/actors/resources.ts";
import { type MeasuredApiServer, startMeasuredApiServer } from "../api-server.ts";
import { numbered } from "../../../tools/in-parallel.ts";
import { type Measurement, measured, measuredAgainst, measuredP99 } from "../measurement.ts";
import type { RunPart } from "../part.ts";
import { createLaunchers, createPlaces, createPlainPods, createVms, launcherName, planVm } from "../population.ts";
import { startWatchers } from "../watchers.ts";

const part = "sandbox";
const MIB = 2 ** 20;

export const runSandbox: RunPart = async ({ quick, note }) => {
  const [vms, pods] = quick ? [1000, 5000] : [10_000, 50_000];
  const server = await startMeasuredApiServer();
  try {
    note(`creating ${vms} VMIs and ${pods} pods`);
    const filled = await fill(server, vms, pods);
    note("reading");
    const reads = await measureReads(server.client, { vms, reads: quick ? 500 : 2000 });
    const lists = await measureLists(server.client);
    note("watching");
    const watches = await measureWatches(server.client, quick ? 20 : 100);
    const { peakRss } = await server.usage();
    const what = `peak RSS with ${vms} VMIs and ${pods} pods`;
    return [
      ...filled,
      measured({ part, what, unit: "MiB", target: 1024 }, [peakRss / MIB]),
      ...reads,
      ...lists,
      ...watches,
    ];
  } finally {
    await server.stop();
  }
};

async function fill(server: MeasuredApiServer, vms: number, pods: number): Promise<readonly Measurement[]> {
  const { client } = server;
  const begin = performance.now();
  await createPlaces(client, 0, vms);
  await createLaunchers(client, await createVms(client, 0, vms));
  await createPlainPods(client, pods - vms, vms);
  const seconds = (performance.now() - begin) / 1000;
  const { rss } = await server.usage();
  return [
    measured({ part, what: "creations", unit: "per s" }, [(vms + pods) / seconds]),
    measured({ part, what: "RSS once they are created", unit: "MiB", target: 1024 }, [rss / MIB]),
  ];
}

/** Against /version: the same connection, TLS, authentication and authorization, but nothing to look up. */
async function measureReads(client: KubeClient, o: { readonly vms: number; readonly reads: number }) {
  const [reads, versions]: [number[], number[]] = [[], []];
  for (const index of numbered(o.reads)) {
    // A stride that is prime to the number of VMs: neighbours are not read one after another.
    const vm = planVm((index * 7919) % o.vms);
    const path = core.pathOf(core.pods, { namespace: vm.namespace, name: launcherName(vm) });
    reads.push(await timed(() => get(client, path)));
    versions.push(await timed(() => get(client, "/version")));
  }
  return [
    measuredAgainst({ part, what: "GET of a pod", unit: "ms" }, reads, { what: "GET /version", samples: versions }),
    measuredP99({ part, what: "GET of a pod, p99", unit: "ms" }, reads),
  ];
}

async function measureLists(client: KubeClient): Promise<readonly Measurement[]> {
  const pages: number[] = [];
  let next: string | undefined;
  do {
    const query = { limit: 250, ...(next === undefined ? {} : { continue: next }) };
    const begin = performance.now();
    const { metadata } = await client.list(core.pods, undefined, query);
    pages.push(performance.now() - begin);
    next = metadata.continue;
  } while (next);
  return [measured({ part, what: "list of pods, page of 250", unit: "ms" }, pages)];
}

const CHANGES = 50;

async function measureWatches(client: KubeClient, count: number): Promise<readonly Measurement[]> {
  const key = { namespace: planVm(0).namespace, name: launcherName(planVm(0)) };
  const watchers = await startWatchers(client, core.pods, count);
  try {
    const times: number[] = [];
    for (const change of numbered(CHANGES)) {
      const body = { metadata: { annotations: { change: String(change) } } };
      times.push(
        await timed(async () => {
          const { metadata } = await client.patch(core.pods, key, { type: "merge", body });
          await watchers.allSaw(metadata.resourceVersion);
        }),
      );
    }
    return [measured({ part, what: `a change of a pod, until ${count} watchers have it`, unit: "ms" }, times)];
  } finally {
    watchers.stop();
  }
}

async function get(client: KubeClient, path: string): Promise<void> {
  const { code } = await client.raw({ method: "GET", path });
  if (code !== 200) throw new Error(`GET ${path}: ${code}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
