/** virt-handler, which manages the guests. One process simulates the virt-handlers of all nodes. */
import { actorOf, type Actor, type ActorOptions } from "../actors/actor.ts";
import { timestamp } from "../actors/clock.ts";
import { isTrue } from "../actors/conditions.ts";
import { startController, type Controller, type Result } from "../actors/controller.ts";
import { startInformer } from "../actors/informer.ts";
import { podAddress } from "../actors/pod-status.ts";
import { keyOf, nodes, type Node, type Pod } from "../actors/resources.ts";
import type { Outages } from "../actors/outages.ts";
import type { ContainerRuntime } from "../actors/runtime.ts";
import { withCondition } from "./conditions.ts";
import { liveMigratable } from "./live-migratable.ts";
import type { MigrationPlan } from "./migration-plan.ts";
import { enterPhase } from "./phases.ts";
import * as kubevirt from "./resources.ts";
import type { Presence } from "./virt-handler/daemon-set.ts";
import { createGuestMigration } from "./virt-handler/guest-migration.ts";
import { createGuestShutdown } from "./virt-handler/guest-shutdown.ts";
import { asHandlerOn } from "./virt-handler/identity.ts";
import { nodeLabels } from "./virt-handler/node-labels.ts";
import { createNodeHooks, HookError } from "./virt-handler/node-hooks.ts";

type Vmi = kubevirt.VirtualMachineInstance;

export interface VirtHandlerOptions extends ActorOptions {
  readonly runtime: ContainerRuntime;
  readonly plan: MigrationPlan;
  readonly outages: Outages;
  /** Determines on which nodes a virt-handler runs. Defaults to all nodes. */
  readonly presence?: Presence | undefined;
}

const GIVE_UP_MS = 10_000;
const WORKERS = 10;
const LAST_RETRY_MS = 1_000_000;
const HEARTBEAT_MS = 60_000;
/**
 * The milliseconds that a launcher waits for its guest. Upstream: `--qemu-timeout` of virt-launcher, which is 240 s
 * plus up to 120 s.
 */
const NO_GUEST_MS = 240_000;
const HEARTBEAT = "kubevirt.io/heartbeat";

export function startVirtHandlers(options: VirtHandlerOptions): Actor {
  const { client, clock, runtime, outages, presence } = options;
  const handlerOf = ({ status }: Vmi) => asHandlerOn(client, status?.nodeName);
  const knownNodes = startInformer({ ...options, resource: nodes });
  const vmis = startInformer({
    ...options,
    resource: kubevirt.virtualMachineInstances,
    indexes: { pod: ({ status }: Vmi) => Object.keys(status?.activePods ?? {}) },
  });
  const plugins = startInformer({ ...options, resource: kubevirt.plugins });
  const kubeVirts = startInformer({ ...options, resource: kubevirt.kubeVirts });
  /**
   * Returns true if a virt-handler runs on the node. virt-handler stops when the machine shuts down, or when a taint
   * evicts virt-handler's pod.
   */
  const isOn = (node = ""): boolean => !outages.isShuttingDown(node) && (presence?.isOn(node) ?? true);
  const migrate = createGuestMigration(options);
  const stopped = new AbortController();
  const callNodeHooks = createNodeHooks({ clock, plugins, kubeVirts, stopped: stopped.signal });
  const shutdown = createGuestShutdown({ ...options, callNodeHooks });

  /**
   * Returns the most recently started launcher on the VMI's node. After a migration back to a node, an older launcher
   * can still exist on the node.
   */
  const launcherOf = ({ status }: Vmi): string | undefined => {
    const listed = Object.entries(status?.activePods ?? {});
    return runtime.startedLast(listed.flatMap(([uid, node]) => (node === status?.nodeName ? [uid] : [])));
  };

  const reconcile = async (key: string): Promise<Result> => {
    const vmi = vmis.get(key);
    if (vmi === undefined || !isOn(vmi.status?.nodeName)) return undefined;
    const { phase } = vmi.status ?? {};
    if (kubevirt.isFinal(vmi.status)) return giveUp(vmi);
    if (phase === "Scheduled") await start(vmi);
    const launcher = launcherOf(vmi);
    if (phase !== "Running" || launcher === undefined || (await end(vmi))) return undefined;
    await shutdown.step(vmi, launcher);
  };

  /**
   * Moves the guest of a migrating VMI. This function has its own controller, because a refused shutdown must not delay
   * migrations.
   */
  const move = async (key: string): Promise<Result> => {
    const vmi = vmis.get(key);
    if (vmi?.status?.phase !== "Running" || exitCodeOf(vmi) !== undefined) return undefined;
    const { nodeName, migrationState } = vmi.status;
    return [nodeName, migrationState?.targetNode ?? nodeName].every(isOn) ? migrate(vmi) : undefined;
  };

  const start = async (vmi: Vmi): Promise<void> => {
    const launcher = launcherOf(vmi);
    if (launcher === undefined || !runtime.isRunning(launcher)) return;
    shutdown.supervise(vmi, launcher);
    const now = timestamp(clock);
    const status = {
      ...enterPhase(vmi.status ?? {}, "Running", now),
      interfaces: [{ name: "default", ipAddress: podAddress(launcher) }],
      conditions: withCondition(vmi.status?.conditions, liveMigratable(vmi.spec)),
      selinuxContext: "none",
      migrationMethod: "LiveMigration",
      migrationTransport: "Unix",
    };
    await handlerOf(vmi).update(kubevirt.virtualMachineInstances, { ...vmi, status });
  };

  /** If the launcher has ended, sets the final phase of the VMI and returns true. */
  const end = async (vmi: Vmi): Promise<boolean> => {
    const exitCode = exitCodeOf(vmi);
    if (exitCode === undefined) return false;
    const status = enterPhase(vmi.status ?? {}, exitCode === 0 ? "Succeeded" : "Failed", timestamp(clock));
    await handlerOf(vmi).update(kubevirt.virtualMachineInstances, { ...vmi, status });
    return true;
  };

  const exitCodeOf = (vmi: Vmi): number | undefined => {
    const launcher = launcherOf(vmi);
    return launcher === undefined ? undefined : runtime.exitCodeOf(launcher);
  };

  /**
   * Ends the launchers that still run after a VMI has reached a final phase. Such a launcher waits for a guest that has
   * ended on another node. A real launcher would wait for some minutes.
   */
  const giveUp = ({ status }: Vmi): Result => {
    const waiting = Object.keys(status?.activePods ?? {}).filter((uid) => runtime.exitCodeOf(uid) === undefined);
    for (const uid of waiting) if (runtime.isRunning(uid)) runtime.exit(uid, 0);
    return waiting.length > 0 ? { requeueAfterMs: GIVE_UP_MS } : undefined;
  };

  /**
   * Ends a target pod that has no guest and whose migration is deleted or finished. virt-controller has missed this
   * pod, and no other component would end it.
   */
  const giveUpTarget = async ({ metadata: { uid, namespace, annotations }, spec }: Pod): Promise<void> => {
    const name = annotations?.[kubevirt.ANNOTATION.migrationJobName] ?? "";
    const migration = await client.get(kubevirt.migrations, { ...(namespace && { namespace }), name });
    const isGone = migration === undefined || kubevirt.isFinal(migration.status);
    const hasGuest = vmis.byIndex("pod", uid).some(({ status }) => status?.nodeName === spec?.nodeName);
    if (isGone && !hasGuest) runtime.exit(uid, 2);
  };

  const heartbeat = async (name: string): Promise<Result> => {
    const node = knownNodes.get(name);
    if (node === undefined || outages.isShuttingDown(name)) return undefined;
    if (!isOn(name)) return leave(node);
    const schedulable = String(isReady(node));
    const age = clock.now().getTime() - Date.parse(node.metadata.annotations?.[HEARTBEAT] ?? "1970-01-01T00:00:00Z");
    const labels = { ...nodeLabels(node.metadata.labels), [kubevirt.LABEL.schedulable]: schedulable };
    const current = Object.entries(labels).every(([label, value]) => node.metadata.labels?.[label] === value);
    if (current && age < HEARTBEAT_MS) return { requeueAfterMs: HEARTBEAT_MS - age };
    const body = { metadata: { labels, annotations: { [HEARTBEAT]: timestamp(clock) } } };
    await asHandlerOn(client, name).patch(nodes, { name }, { type: "strategic", body });
    return { requeueAfterMs: HEARTBEAT_MS };
  };

  /**
   * Labels the node when virt-handler receives SIGTERM. Upstream: `pkg/virt-handler/heartbeat/heartbeat.go`,
   * labelNodeUnschedulable.
   */
  const leave = async ({ metadata: { name, labels } }: Node): Promise<void> => {
    if (labels?.[kubevirt.LABEL.schedulable] !== "true") return;
    const last = { [kubevirt.LABEL.schedulable]: "false" };
    const body = { metadata: { labels: last, annotations: { [HEARTBEAT]: timestamp(clock) } } };
    await asHandlerOn(client, name).patch(nodes, { name }, { type: "strategic", body });
  };

  const onError = (error: unknown, key: string) => {
    if (!(error instanceof HookError)) options.onError?.(error, key);
  };
  const handlers = new Map<string, Controller>();
  const handlerOn = (node = ""): Controller => {
    const limits = { workers: WORKERS, lastRetryMs: LAST_RETRY_MS };
    const handler =
      handlers.get(node) ?? startController({ name: "virt-handler", reconcile, ...limits, ...options, onError });
    handlers.set(node, handler);
    return handler;
  };
  const enqueueVmi = (vmi: Vmi) => handlerOn(vmi.status?.nodeName).enqueue(keyOf(vmi));
  const enqueueVmiOfPod = (podUid: string) => vmis.byIndex("pod", podUid).forEach(enqueueVmi);
  const migrations = startController({ name: "guest-migration", reconcile: move, workers: 8, ...options });
  const heartbeats = startController({ name: "heartbeat", reconcile: heartbeat, ...options });
  vmis.onChange((vmi, previous) => [vmi ?? previous].forEach((one) => one && enqueueVmi(one)));
  [...vmis.list()].forEach(enqueueVmi);
  migrations.watch(vmis, (vmi) => [keyOf(vmi)]);
  heartbeats.watch(knownNodes, (node) => [keyOf(node)]);
  const enqueueVmisOn = (node: string) => {
    heartbeats.enqueue(node);
    for (const vmi of vmis.list()) {
      const { nodeName, migrationState } = vmi.status ?? {};
      if (nodeName === node) enqueueVmi(vmi);
      if (nodeName === node || migrationState?.targetNode === node) migrations.enqueue(keyOf(vmi));
    }
  };
  outages.onStart(enqueueVmisOn);
  presence?.onChange(enqueueVmisOn);
  runtime.onSignal(enqueueVmiOfPod);
  const waits: (() => void)[] = [];
  runtime.onStart((pod) => {
    const isTarget = pod.metadata.annotations?.[kubevirt.ANNOTATION.migrationJobName] !== undefined;
    if (isTarget) waits.push(clock.setTimer(NO_GUEST_MS, () => void giveUpTarget(pod).catch(() => undefined)));
  });
  runtime.onExit((podUid) => {
    enqueueVmiOfPod(podUid);
    for (const vmi of vmis.byIndex("pod", podUid)) migrations.enqueue(keyOf(vmi));
  });
  const guests: Actor = {
    async stop() {
      stopped.abort();
      for (const cancel of waits) cancel();
      await Promise.all([...handlers.values()].map((handler) => handler.stop()));
    },
  };
  return actorOf([guests, migrations, heartbeats], [vmis, knownNodes, plugins, kubeVirts]);
}

function isReady({ status }: Node): boolean {
  return isTrue(status?.conditions, "Ready");
}
