/** Whether Lifeboat runs in the cluster or in a Worker, and what helps with either. */
import type { WebhookDoor } from "../../../shared/policy/webhooks/facts.ts";
import { valueOf } from "./check.ts";
import type { Facts } from "./facts.ts";

export type Form = Pick<Facts, "inside">;

export const LOGS = "kubectl -n lifeboat-system logs deployment/lifeboat-server";
const README = "infra/kubernetes/README.md";
const FILES = {
  evictions: { file: "infra/kubernetes/webhook.yaml", step: `${README}, "Install", step 3` },
  deletions: { file: "infra/kubernetes/optional/guard/guard.yaml", step: `${README}, "The guard"` },
} as const satisfies Record<WebhookDoor, unknown>;
const PARTS = { evictions: "", deletions: " --with guard" } as const satisfies Record<WebhookDoor, string>;

export function isInCluster({ inside }: Form): boolean {
  return valueOf(inside) !== undefined;
}

export function fileOf(door: WebhookDoor): string {
  return FILES[door].file;
}

/** What puts a webhook there, or puts it right. */
export function installOf(door: WebhookDoor, form: Form): string {
  if (isInCluster(form)) return `lifeboat install --in-cluster --image IMAGE${PARTS[door]}`;
  const { file, step } = FILES[door];
  return `lifeboat install --worker URL${PARTS[door]}; or ${file}, with your URL: ${step}`;
}
