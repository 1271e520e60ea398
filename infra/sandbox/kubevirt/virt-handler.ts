/**
 * virt-handler on all nodes, in one process: what happens to the guest itself.
 * Owns: Running and the end of a VMI, LiveMigratable, moving the guest, the nodes' schedulable label. Does not own:
 * pods (kubelet), the outcome of a migration (migration-plan.ts), its phases (virt-controller/).
 */
import { actorOf, type Actor, type ActorOptions } from "../actors/actor.ts";
import { timestamp } from "../actors/clock.ts";
import { isTrue } from "../actors/conditions.ts";
import { startController, type Result } from "../actors/controller.ts";
import { startInformer } from "../actors/informer.ts";
import { podAddress } from "../actors/pod-status.ts";
import { keyOf, nodes, type Node } from "../actors/resources.ts";
import type { ContainerRuntime } from "../actors/runtime.ts";
import { withCondition } from "./conditions.ts";
import { liveMigratable } from "./live-migratable.ts";
import type { MigrationPlan } from "./migration-plan.ts";
import { enterPhase } from "./phases.ts";
import * as kubevirt from "./resources.ts";
import { createGuestMigration } from "./virt-handler/guest-migration.ts";

type Vmi = kubevirt.VirtualMachineInstance;

export interface VirtHandlerOptions extends ActorOptions {
  readonly runtime: ContainerRuntime;
  readonly plan: MigrationPlan;
}

const GIVE_UP_MS = 10_000;
const HEARTBEAT_MS = 60_000;
const HEARTBEAT = "kubevirt.io/heartbeat";

export function startVirtHandlers(options: VirtHandlerOptions): Actor {
  const { client, clock, runtime } = options;
  const knownNodes = startInformer({ ...options, resource: nodes });
  const vmis = startInformer({
    ...options,
    resource: kubevirt.virtualMachineInstances,
    indexes: { pod: ({ status }: Vmi) => Object.keys(status?.activePods ?? {}) },
  });
  const migrate = createGuestMigration(options);

  const reconcile = async (key: string): Promise<Result> => {
    const vmi = vmis.get(key);
    if (vmi === undefined) return undefined;
    const { phase } = vmi.status ?? {};
    if (kubevirt.isFinal(vmi.status)) return giveUp(vmi);
    if (phase === "Scheduled") await start(vmi);
    if (phase !== "Running" || (await end(vmi))) return undefined;
    return migrate(vmi);
  };

  const start = async (vmi: Vmi): Promise<void> => {
    const launcher = launcherOf(vmi);
    if (launcher === undefined || !runtime.isRunning(launcher)) return;
    const now = timestamp(clock);
    const status = {
      ...enterPhase(vmi.status ?? {}, "Running", now),
      interfaces: [{ name: "default", ipAddress: podAddress(launcher) }],
      conditions: withCondition(vmi.status?.conditions, liveMigratable(vmi.spec)),
      // The nodes have no SELinux.
      selinuxContext: "none",
      migrationMethod: "LiveMigration",
      migrationTransport: "Unix",
    };
    await client.update(kubevirt.virtualMachineInstances, { ...vmi, status });
  };

  /** The launcher was told to end, or died, and the guest with it. True if the guest has ended. */
  const end = async (vmi: Vmi): Promise<boolean> => {
    const launcher = launcherOf(vmi);
    const exitCode = launcher === undefined ? undefined : runtime.exitCodeOf(launcher);
    if (exitCode === undefined) return false;
    const status = enterPhase(vmi.status ?? {}, exitCode === 0 ? "Succeeded" : "Failed", timestamp(clock));
    await client.update(kubevirt.virtualMachineInstances, { ...vmi, status });
    return true;
  };

  /** Ends a launcher whose guest has ended on another node. A real one waits some minutes for the guest. */
  const giveUp = ({ status }: Vmi): Result => {
    const waiting = Object.keys(status?.activePods ?? {}).filter((uid) => runtime.exitCodeOf(uid) === undefined);
    for (const uid of waiting) if (runtime.isRunning(uid)) runtime.exit(uid, 0);
    return waiting.length > 0 ? { requeueAfterMs: GIVE_UP_MS } : undefined;
  };

  const heartbeat = async (name: string): Promise<Result> => {
    const node = knownNodes.get(name);
    if (node === undefined) return undefined;
    const schedulable = String(isReady(node));
    const age = clock.now().getTime() - Date.parse(node.metadata.annotations?.[HEARTBEAT] ?? "1970-01-01T00:00:00Z");
    const current = node.metadata.labels?.[kubevirt.LABEL.schedulable] === schedulable;
    if (current && age < HEARTBEAT_MS) return { requeueAfterMs: HEARTBEAT_MS - age };
    const labels = { [kubevirt.LABEL.schedulable]: schedulable };
    const body = { metadata: { labels, annotations: { [HEARTBEAT]: timestamp(clock) } } };
    await client.patch(nodes, { name }, { type: "strategic", body });
    return { requeueAfterMs: HEARTBEAT_MS };
  };

  const guests = startController({ name: "virt-handler", reconcile, workers: 8, ...options });
  const heartbeats = startController({ name: "heartbeat", reconcile: heartbeat, ...options });
  guests.watch(vmis, (vmi) => [keyOf(vmi)]);
  heartbeats.watch(knownNodes, (node) => [keyOf(node)]);
  runtime.onExit((podUid) => vmis.byIndex("pod", podUid).forEach((vmi) => guests.enqueue(keyOf(vmi))));
  return actorOf([guests, heartbeats], [vmis, knownNodes]);
}

/** The launcher on the VMI's node; during a migration there is another one on another node. */
function launcherOf({ status }: Vmi): string | undefined {
  return Object.entries(status?.activePods ?? {}).find(([, node]) => node === status?.nodeName)?.[0];
}

function isReady({ status }: Node): boolean {
  return isTrue(status?.conditions, "Ready");
}
