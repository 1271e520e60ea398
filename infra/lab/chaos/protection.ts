/** While a VM is marked, its budget has to be there: without one, the next eviction of it would be let through. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { keyOf, podDisruptionBudgets, type PodDisruptionBudget } from "../../sandbox/actors/resources.ts";
import { isFinal, virtualMachineInstances, type VirtualMachineInstance } from "../../sandbox/kubevirt/resources.ts";
import type { Listener, Observer } from "./observer.ts";
import { persist } from "./persist.ts";
import { hasBudget, isBudgetOf } from "./rest.ts";

export interface ProtectionCheck extends Pick<Listener, "vmiChanged" | "budgetChanged"> {
  /** Resolves when every doubt is settled. */
  settled(): Promise<unknown>;
}

/** The API server, asked. */
export interface Asked {
  vmi(key: VmiKey): Promise<VirtualMachineInstance | undefined>;
  budgets(namespace: string): Promise<readonly PodDisruptionBudget[]>;
}

interface VmiKey {
  readonly namespace: string;
  readonly name: string;
}

export interface ProtectionOptions {
  readonly asked: Asked;
  readonly observer: Pick<Observer, "vmis" | "budgets">;
  readonly report: (what: string) => void;
}

/** For as long as it takes: the API server may be away just now. */
export function askedThrough(client: KubeClient): Asked {
  return {
    vmi: (key) => persist(() => client.get(virtualMachineInstances, key)),
    budgets: async (namespace) => (await persist(() => client.list(podDisruptionBudgets, namespace))).items,
  };
}

export function createProtectionCheck({ asked, observer, report }: ProtectionOptions): ProtectionCheck {
  const doubts = new Map<string, Promise<void>>();

  /** Caches of two kinds may be of two moments: only what is true before and after the look at the budgets counts. */
  const confirm = async (key: VmiKey): Promise<void> => {
    const before = await asked.vmi(key);
    const budgets = await asked.budgets(key.namespace);
    const after = await asked.vmi(key);
    const stands = [before, after].every((vmi) => vmi !== undefined && needsBudget(vmi) && !hasOwn(vmi, budgets));
    if (stands) report(`${key.namespace}/${key.name} is marked and has no budget`);
  };

  const doubt = (vmi: VirtualMachineInstance): void => {
    const key = keyOf(vmi);
    if (doubts.has(key) || !needsBudget(vmi) || hasOwn(vmi, observer.budgets.list())) return;
    const { namespace = "", name } = vmi.metadata;
    const confirmed = confirm({ namespace, name }).catch(() => undefined);
    doubts.set(
      key,
      confirmed.finally(() => doubts.delete(key)),
    );
  };

  return {
    vmiChanged(now) {
      if (now !== undefined) doubt(now);
    },
    budgetChanged(now, before) {
      if (now !== undefined || before === undefined) return;
      for (const vmi of observer.vmis.list()) if (isBudgetOf(before, vmi)) doubt(vmi);
    },
    settled: () => Promise.all(doubts.values()),
  };
}

function needsBudget(vmi: VirtualMachineInstance): boolean {
  const { metadata, status } = vmi;
  const live = metadata.deletionTimestamp === undefined && !isFinal(status);
  const marked = status?.evacuationNodeName !== undefined && status.evacuationNodeName === status.nodeName;
  return live && marked && hasBudget(vmi);
}

function hasOwn(vmi: VirtualMachineInstance, budgets: Iterable<PodDisruptionBudget>): boolean {
  return [...budgets].some((budget) => isBudgetOf(budget, vmi) && budget.metadata.deletionTimestamp === undefined);
}
