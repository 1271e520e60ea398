/** Worlds for the demo's tests: a minimal valid one, plus tweaks. */
import {
  emptyWorld,
  type MigrationView,
  type NodeView,
  type PodView,
  type VirtualMachine,
  type World,
} from "../../infra/demo/world.ts";

export function vm(tweak: Partial<VirtualMachine> = {}): VirtualMachine {
  return {
    key: "shop/web",
    uid: "uid-web",
    strategy: "LiveMigrate",
    phase: "Running",
    nodeName: "node-1",
    deleting: false,
    marked: false,
    ...tweak,
  };
}

/** The launcher pod that holds the guest of `vmi`. */
export function launcherOf(vmi: VirtualMachine, tweak: Partial<PodView> = {}): PodView {
  return {
    key: vmi.key.replace("/", "/virt-launcher-"),
    ...(vmi.nodeName !== undefined && { nodeName: vmi.nodeName }),
    phase: "Running",
    deleting: false,
    launcherOf: vmi.uid,
    ...tweak,
  };
}

export function migration(tweak: Partial<MigrationView> = {}): MigrationView {
  return { vmi: "shop/web", createdAt: "2026-01-01T00:00:00Z", phase: "Running", ...tweak };
}

export function node(name: string, tweak: Partial<NodeView> = {}): NodeView {
  return { name, cordoned: false, troubles: [], ...tweak };
}

export interface Cast {
  readonly vmis?: readonly VirtualMachine[];
  readonly pods?: readonly PodView[];
  readonly migrations?: readonly MigrationView[];
  readonly nodes?: readonly NodeView[];
  /** Reasons of Events about `uid-web`, in the order told. */
  readonly told?: readonly string[];
}

function numbered<T>(values: readonly T[]): ReadonlyMap<string, T> {
  return new Map(values.map((value, index) => [String(index), value]));
}

export function world(cast: Cast = {}): World {
  return {
    ...emptyWorld(),
    vmis: new Map((cast.vmis ?? []).map((vmi) => [vmi.uid, vmi])),
    pods: numbered(cast.pods ?? []),
    migrations: numbered(cast.migrations ?? []),
    nodes: numbered(cast.nodes ?? []),
    events: numbered((cast.told ?? []).map((reason) => ({ uid: "uid-web", reason, message: `${reason} of uid-web` }))),
  };
}

/** VMs that run, each with its launcher. */
export function running(...vmis: readonly VirtualMachine[]): World {
  return world({ vmis, pods: vmis.map((vmi) => launcherOf(vmi)) });
}
