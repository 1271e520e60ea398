/** Reads, applies and deletes the objects of manifests. Uses server-side apply with one field manager. */
import { ClusterError } from "../../../shared/kube/failures.ts";
import { parseAnswer } from "../../../shared/kube/read.ts";
import { type ApiAnswer, type Send } from "../../../shared/kube/transport.ts";
import { Failed } from "../failed.ts";
import { type Host } from "../host.ts";
import { type Manifest, nameOf } from "./manifests.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import { turned, withGatesOf, withoutOldGate } from "./plan.ts";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";

export interface Applying {
  readonly send: () => Send;
  readonly host: Host;
  /** If set, takes over fields that other managers have set differently. */
  readonly forceConflicts: boolean;
}

const MANAGER = "lifeboat-install";
/**
 * The content type of server-side apply. `install` sends these requests itself, because client-node's
 * KubernetesObjectApi would drop fields such as `default`, `enum` and `from`.
 */
const APPLY = "application/apply-patch+yaml";

/** Applies objects, and prints the result for each, as kubectl apply does. */
export async function applyAll(manifests: readonly Manifest[], applying: Applying): Promise<void> {
  const { host, send } = applying;
  for (const manifest of manifests) {
    const change = await apply(manifest, applying);
    host.stdout.write(MESSAGES.changed(nameOf(manifest), change));
    if (manifest.kind === "CustomResourceDefinition") {
      await until(MESSAGES.notServed(nameOf(manifest)), { host }, async () => {
        return isEstablished(await readObject(manifest, send())) || undefined;
      });
    }
  }
}

async function apply(manifest: Manifest, { send, forceConflicts }: Applying) {
  const path = pathOf(manifest);
  const before = await readObject(manifest, send());
  const turns = [...turned(before, manifest), ...withoutOldGate(before, manifest)];
  if (turns.length > 0) await send()({ method: "PATCH", path, body: turns, query: { fieldManager: MANAGER } });
  const query = { fieldManager: MANAGER, force: String(forceConflicts) };
  const body = withGatesOf(before, manifest);
  const after = await send()({ method: "PATCH", path, query, body, contentType: APPLY, expect: [409] });
  if (after.code === 409) throw new Failed(conflictOf(manifest, after.body));
  if (before === undefined) return "created";
  return isDeepStrictEqual(contentOf(before), contentOf(after.body)) ? "unchanged" : "configured";
}

/** Reads an object. Returns undefined if the object or its kind does not exist. */
export async function readObject(manifest: Manifest, send: Send): Promise<unknown> {
  return (await ifThere(send({ method: "GET", path: pathOf(manifest), expect: [404] })))?.body;
}

/** Deletes an object. Returns whether it existed. */
export async function removeObject(manifest: Manifest, send: Send): Promise<boolean> {
  const query = { propagationPolicy: "Background" };
  const asked = send({ method: "DELETE", path: pathOf(manifest), query, expect: [404] });
  return (await ifThere(asked)) !== undefined;
}

/** Returns undefined for a 404, including the 404 in plain text (not a Status) for a kind that is not served. */
export async function ifThere(asked: Promise<ApiAnswer>): Promise<ApiAnswer | undefined> {
  const answer = await ifServed(asked);
  return answer?.code === 404 ? undefined : answer;
}

/** Resolves to undefined if the API server does not serve the kind. */
export async function ifServed<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    const failure = error instanceof ClusterError ? error.failure : undefined;
    if (failure?.reason === "Refused" && failure.code === 404) return undefined;
    throw error;
  }
}

/**
 * Returns the API path of an object. Works only for Lifeboat's manifests: all kinds have regular plurals, and every
 * namespaced object has a namespace.
 */
export function pathOf({ apiVersion, kind, metadata: { namespace, name } }: Manifest): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, "ies");
  return `${group}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}/${name}`;
}

const Conditions = z.array(z.object({ type: z.string(), status: z.string() }));
const Definition = z.object({ status: z.object({ conditions: Conditions }) });

function isEstablished(definition: unknown): boolean {
  const conditions = Definition.safeParse(definition).data?.status.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Established" && status === "True");
}

const Conflicts = z.object({
  details: z.object({ causes: z.array(z.object({ message: z.string(), field: z.string() })) }),
});

/** Describes a conflict. Leaves out values, because a value can be a URL with a token. */
function conflictOf(manifest: Manifest, body: unknown): string {
  const causes = Conflicts.safeParse(body).data?.details.causes ?? [];
  const fields = causes.map(({ message, field }) => `${message.replace("conflict with ", "")}: ${field}`);
  return MESSAGES.conflict(nameOf(manifest), fields);
}

const Stored = z.looseObject({ metadata: z.looseObject({}) });

function contentOf(body: unknown): unknown {
  const { metadata, status: _, ...rest } = parseAnswer(Stored, body, "PATCH");
  const { managedFields: _m, resourceVersion: _r, generation: _g, ...meta } = metadata;
  return { ...rest, metadata: meta };
}

const POLL_MS = 1000;

interface Waiting {
  readonly host: Host;
  readonly seconds?: number;
}

/** Repeats a read until it returns a value. If no value comes in time, throws an error with the message `what`. */
export async function until<T>(
  what: string | (() => string),
  { host, seconds = 60 }: Waiting,
  read: () => Promise<T | undefined>,
): Promise<T> {
  const last = host.now().getTime() + seconds * 1000;
  while (host.now().getTime() <= last && !host.interrupted.aborted) {
    const found = await read();
    if (found !== undefined) return found;
    await host.wait(POLL_MS);
  }
  throw new Failed(MESSAGES.tooLate(typeof what === "string" ? what : what(), seconds));
}
