/** VMs that leave their nodes as in a drain: asked through the server's door, and moved as KubeVirt moves what is marked. */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { pods } from "../../sandbox/actors/resources.ts";
import * as kubevirt from "../../sandbox/kubevirt/resources.ts";
import { endingOf, evacuations } from "../stage/evacuations.ts";
import { inParallel, numbered } from "../../tools/in-parallel.ts";
import type { MeasuredServer } from "./measured-server.ts";
import { createLaunchers, launcherName, type Vm } from "./population.ts";

const AT_A_TIME = 4;
/** What goes on after the answers is over before the first VM has moved. */
const MIGRATION_MS = 500;

export interface MovingVms {
  /** So many have been asked to leave. */
  readonly asked: () => number;
  /** The next so many leave. Throws if more evacuations than these have not come to their end. */
  move(count: number): Promise<void>;
}

export function movingVms(client: KubeClient, server: MeasuredServer, vms: readonly Vm[]): MovingVms {
  const nodes = [...new Set(vms.map(({ node }) => node))];
  const after = (node: string) => nodes[(nodes.indexOf(node) + 1) % nodes.length] ?? node;
  let asked = 0;
  return {
    asked: () => asked,
    async move(count) {
      await expectFewUnderWay(client, count);
      const chosen = numbered(count).flatMap((index) => vms[(asked + index) % vms.length] ?? []);
      await inParallel(chosen, AT_A_TIME, (vm) => server.review({ namespace: vm.namespace, name: launcherName(vm) }));
      asked += count;
      await delay(MIGRATION_MS);
      await inParallel(await marked(client, vms), AT_A_TIME, (vm) => arrive(client, { ...vm, node: after(vm.node) }));
    },
  };
}

/** Where they are now. */
async function marked(client: KubeClient, vms: readonly Vm[]): Promise<readonly Vm[]> {
  const { items } = await client.list(kubevirt.virtualMachineInstances);
  const nodeOf = new Map(
    items.flatMap(({ metadata, status }) =>
      status?.evacuationNodeName === undefined ? [] : [[metadata.uid, status.nodeName ?? ""]],
    ),
  );
  return vms.flatMap((vm) => {
    const node = nodeOf.get(vm.uid);
    return node === undefined ? [] : [{ ...vm, node }];
  });
}

/** The guest runs on another node, in another pod. */
async function arrive(client: KubeClient, vm: Vm): Promise<void> {
  const body = {
    metadata: { labels: { "kubevirt.io/nodeName": vm.node } },
    status: { nodeName: vm.node, evacuationNodeName: null },
  };
  await client.patch(kubevirt.virtualMachineInstances, vm, { type: "merge", body });
  const launcher = { namespace: vm.namespace, name: launcherName(vm) };
  await client.delete(pods, launcher, { gracePeriodSeconds: 0 });
  await createLaunchers(client, [vm]);
}

async function expectFewUnderWay(client: KubeClient, most: number): Promise<void> {
  const { items } = await client.list(evacuations);
  const underWay = items.filter((evacuation) => endingOf(evacuation) === undefined);
  if (underWay.length <= most) return;
  const states = underWay.map(({ metadata, status }) => `${metadata.name} ${status?.phase} ${status?.message}`);
  throw new Error(`${underWay.length} evacuations go on: ${states.join(", ")}`);
}
