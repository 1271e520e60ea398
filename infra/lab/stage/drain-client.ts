/**
 * Drains a node like `kubectl drain NODE --ignore-daemonsets --delete-emptydir-data`, and prints the same text.
 * Upstream: kubectl/pkg/drain (filters.go, drain.go).
 */
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { controllerOf, keyOf, type KubeClient, nodes, type Pod, pods, type RawAnswer } from "../../sandbox/index.ts";

export interface DrainNodeOptions {
  readonly client: KubeClient;
  readonly node: string;
  readonly onLine: (line: string) => void;
  readonly signal: AbortSignal;
  readonly retryMs?: number;
  readonly pollMs?: number;
}

type Run = Required<DrainNodeOptions> & { readonly warned: Set<string> };

/**
 * Resolves to true when the node is drained. Resolves to false if kubectl would require more flags. Rejects if the API
 * server refuses permanently.
 */
export async function drainNode(options: DrainNodeOptions): Promise<boolean> {
  const run: Run = { retryMs: 5000, pollMs: 1000, warned: new Set(), ...options };
  const { client, node, onLine } = run;
  await client.patch(nodes, { name: node }, { type: "strategic", body: { spec: { unschedulable: true } } });
  onLine(`node/${node} cordoned`);
  const { items } = await client.list(pods, undefined, { fieldSelector: `spec.nodeName=${node}` });
  const ignored = items.filter(isOfDaemonSet);
  if (ignored.length > 0) onLine(`Warning: ignoring DaemonSet-managed Pods: ${ignored.map(keyOf).join(", ")}`);
  const unmanaged = items.filter((pod) => !isFinished(pod) && controllerOf(pod) === undefined);
  if (unmanaged.length > 0) {
    onLine(`error: cannot delete Pods that declare no controller: ${unmanaged.map(keyOf).join(", ")}`);
    return false;
  }
  const leaving = items.filter((pod) => !isOfDaemonSet(pod) && !isMirror(pod));
  await Promise.all(leaving.map((pod) => evictUntilGone(run, pod)));
  onLine(`node/${node} drained`);
  return true;
}

function isOfDaemonSet(pod: Pod): boolean {
  return controllerOf(pod)?.kind === "DaemonSet" && !isFinished(pod);
}

function isMirror(pod: Pod): boolean {
  return pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
}

function isFinished(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

async function evictUntilGone(run: Run, pod: Pod): Promise<void> {
  const { namespace = "default", name } = pod.metadata;
  for (;;) {
    run.signal.throwIfAborted();
    run.onLine(`evicting pod ${keyOf(pod)}`);
    const refusal = await evict(run, pod);
    if (refusal === undefined) break;
    run.onLine(`error when evicting pods/"${name}" -n "${namespace}" (will retry after 5s): ${refusal}`);
    await delay(run.retryMs, undefined, { signal: run.signal });
  }
  for (;;) {
    const now = await run.client.get(pods, pod.metadata);
    if (now?.metadata.uid !== pod.metadata.uid) break;
    await delay(run.pollMs, undefined, { signal: run.signal });
  }
  run.onLine(`pod/${name} evicted`);
}

const Answer = z.object({ message: z.prefault(z.string(), "") });

/**
 * Evicts a pod. Returns undefined if the pod is evicted or gone. Returns the API server's message if the eviction is
 * temporarily refused.
 */
async function evict(run: Run, pod: Pod): Promise<string | undefined> {
  const { namespace, name } = pod.metadata;
  const { code, headers, body } = await requestEviction(run.client, pod);
  for (const warning of warningsOf(headers["warning"])) warnOnce(run, warning);
  if (code < 400 || code === 404) return undefined;
  const { message } = z.parse(Answer, body);
  if (code === 429) return message;
  throw new Error(`when evicting pods/"${name}" -n "${namespace}": ${message}`);
}

export function requestEviction(client: KubeClient, { metadata: { namespace, name } }: Pod): Promise<RawAnswer> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  return client.raw({ method: "POST", path, body });
}

function warnOnce({ warned, onLine }: Run, warning: string): void {
  if (!warned.has(warning)) onLine(`Warning: ${warning}`);
  warned.add(warning);
}

/**
 * Parses a Warning header, which can contain several texts: `299 - "text"`. Quotes and backslashes in a text are
 * escaped.
 */
function warningsOf(header: string | string[] | undefined): readonly string[] {
  const text = Array.isArray(header) ? header.join(", ") : (header ?? "");
  return [...text.matchAll(/\b299 \S+ "(?<text>(?:[^"\\]|\\.)*)"/g)].map(({ groups }) =>
    (groups?.["text"] ?? "").replaceAll(/\\(.)/g, "$1"),
  );
}
