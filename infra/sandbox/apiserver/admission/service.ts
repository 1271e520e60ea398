/** Finds a ready pod for a webhook with a Service. Reads the Service and its pods instead of EndpointSlices. */
import type { Pod } from "../../actors/resources.ts";
import { collectionOf, type ServerState } from "../context.ts";
import { recordAt, recordsAt, viewAs } from "../objects.ts";
import { parsedOnce } from "../store.ts";
import { WebhookError } from "./webhook-answer.ts";

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string;
  readonly port?: number;
}

export interface Backend {
  /** The URL that the API server calls and shows in its error messages. */
  readonly url: URL;
  /** The local port on which the pod's process listens. */
  readonly port: number;
}

let turn = 0;

export function backendOf(state: ServerState, { namespace, name, path = "", port = 443 }: ServiceReference): Backend {
  const url = new URL(`https://${name}.${namespace}.svc:${port}${path}`);
  const failed = (why: string) => new WebhookError(`failed to call webhook: Post "${url.href}": ${why}`);
  const stored = collectionOf(state, kindOf(state, "Service")).get({ namespace, name });
  if (stored === undefined) throw failed(`service "${name}" not found`);
  const service = parsedOnce(stored);
  const ports = recordsAt(service, "spec.ports");
  const target = ports.find((one) => one.port === port);
  if (target === undefined) throw failed(`no service port ${port} found for service "${name}"`);
  const selector = Object.entries(recordAt(service, "spec.selector"));
  const pods = collectionOf(state, kindOf(state, "Pod"))
    .list(namespace)
    .map((pod) => viewAs<Pod>(parsedOnce(pod)))
    .filter((pod) => selector.every(([key, value]) => pod.metadata.labels?.[key] === value) && isServing(pod));
  const found = pods.flatMap((pod) => {
    const own = state.network.portOf(pod.metadata.uid, targetPortOf(pod, target));
    return own === undefined ? [] : [own];
  });
  const chosen = found[turn++ % found.length];
  if (chosen === undefined) throw failed(`no endpoints available for service "${name}"`);
  return { url, port: chosen };
}

function kindOf(state: ServerState, kind: string) {
  const found = state.kinds.ofObject("v1", kind);
  if (found === undefined) throw new Error(`no kind ${kind}`);
  return found;
}

function isServing({ metadata, status }: Pod): boolean {
  const isReady = (status?.conditions ?? []).some((one) => one.type === "Ready" && one.status === "True");
  return isReady && metadata.deletionTimestamp === undefined;
}

function targetPortOf(pod: Pod, { targetPort, port }: Readonly<Record<string, unknown>>): number {
  const wanted = targetPort ?? port;
  const ports = pod.spec?.containers.flatMap((container) => container.ports ?? []) ?? [];
  return ports.find(({ name }) => name === wanted)?.containerPort ?? Number(wanted);
}
