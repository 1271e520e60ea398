/**
 * Applying manifests: server-side apply, under one field manager, so that a second time changes nothing, and nothing that another manager
 * has set is overwritten unasked.
 */
import * as z from "zod/mini";
import { parseAnswer } from "../../../shared/cluster/read.ts";
import type { ApiAnswer, Send } from "../../../shared/cluster/transport.ts";
import { Failed } from "../failed.ts";
import { type Manifest, nameOf } from "./manifests.ts";
import { turned, withGatesOf } from "./plan.ts";

export type Change = "created" | "configured" | "unchanged";

const MANAGER = "lifeboat-install";
const Resources = z.object({
  resources: z.array(z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean() })),
});

const Groups = z.object({
  groups: z.array(z.object({ versions: z.array(z.object({ groupVersion: z.string() })) })),
});
const Stored = z.looseObject({ metadata: z.looseObject({}), status: z.optional(z.unknown()) });

const Conflicts = z.object({
  details: z.object({ causes: z.array(z.object({ message: z.string(), field: z.string() })) }),
});

export interface ApplyOptions {
  /** What it would be. */
  readonly dryRun: boolean;
  /** Fields that other managers have set to other values are taken over. */
  readonly forceConflicts: boolean;
}

/** Knows where a kind lives, once it has asked. */
export class Applier {
  readonly #send: () => Send;
  readonly #kinds = new Map<string, z.output<typeof Resources>["resources"]>();

  constructor(send: () => Send) {
    this.#send = send;
  }

  async apply(manifest: Manifest, { dryRun, forceConflicts }: ApplyOptions): Promise<Change> {
    const path = await this.pathOf(manifest);
    if (path === undefined) {
      // With a dry run the kinds of this installation are not there.
      if (dryRun) return "created";
      throw new Failed(`this cluster does not serve ${manifest.apiVersion} ${manifest.kind}`);
    }
    const before = await this.#send()({ method: "GET", path, expect: [404] });
    const turns = turned(before.body, manifest);
    if (turns.length > 0) {
      if (dryRun) return "configured";
      await this.#send()({ method: "PATCH", path, body: turns, query: { fieldManager: MANAGER } });
    }
    const query = { fieldManager: MANAGER, force: String(forceConflicts), ...(dryRun && { dryRun: "All" }) };
    const apply = {
      method: "PATCH",
      path,
      query,
      body: withGatesOf(before.body, manifest),
      contentType: "application/apply-patch+yaml",
    } as const;
    const after = await this.#send()({ ...apply, expect: dryRun ? [404, 409] : [409] });
    if (after.code === 409) throw new Failed(conflictOf(manifest, after.body));
    if (before.code === 404) return "created";
    return contentOf(before) === contentOf(after) ? "unchanged" : "configured";
  }

  /** Whether there was something to delete. */
  async remove(manifest: Manifest): Promise<boolean> {
    const path = await this.pathOf(manifest);
    if (path === undefined) return false;
    const query = { propagationPolicy: "Background" };
    return (await this.#send()({ method: "DELETE", path, query, expect: [404] })).code !== 404;
  }

  async read(manifest: Manifest): Promise<unknown> {
    const path = await this.pathOf(manifest);
    if (path === undefined) return undefined;
    const { code, body } = await this.#send()({ method: "GET", path, expect: [404] });
    return code === 404 ? undefined : body;
  }

  /** Undefined: the kind is not served. */
  async pathOf(manifest: Manifest): Promise<string | undefined> {
    const { apiVersion, kind, metadata } = manifest;
    const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const resource = (await this.#resourcesOf(group)).find((one) => one.kind === kind && !one.name.includes("/"));
    if (resource === undefined) return undefined;
    if (resource.namespaced && metadata.namespace === undefined)
      throw new Error(`${nameOf(manifest)} has no namespace`);
    const within = resource.namespaced ? `/namespaces/${metadata.namespace ?? ""}` : "";
    return `${group}${within}/${resource.name}/${metadata.name}`;
  }

  async #resourcesOf(group: string) {
    const known = this.#kinds.get(group);
    if (known !== undefined) return known;
    if (!(await this.#isServed(group))) return [];
    const { body } = await this.#send()({ method: "GET", path: group });
    const { resources } = parseAnswer(Resources, body, `GET ${group}`);
    this.#kinds.set(group, resources);
    return resources;
  }

  /** Of a group that it does not know an API server says 404 in words of its own, as anything else would. */
  async #isServed(group: string): Promise<boolean> {
    if (group === "/api/v1") return true;
    const { body } = await this.#send()({ method: "GET", path: "/apis" });
    const versions = parseAnswer(Groups, body, "GET /apis").groups.flatMap((one) => one.versions);
    return versions.some(({ groupVersion }) => `/apis/${groupVersion}` === group);
  }
}

/** Names managers and fields, as the API server does, and no values: one may be a URL that holds a token. */
function conflictOf(manifest: Manifest, body: unknown): string {
  const found = Conflicts.safeParse(body);
  const causes = found.success ? found.data.details.causes : [];
  const fields = causes.map(({ message, field }) => `    ${message.replace("conflict with ", "")}: ${field}\n`);
  return `${nameOf(manifest)} has not been applied: to some of its fields, other field managers have given other values:
${fields.join("")}--force-conflicts overwrites them. To keep them, apply what \`lifeboat install --export\` prints with a kustomization of yours`;
}

/** Without what the API server writes. */
function contentOf({ body }: ApiAnswer): string {
  const { metadata, status: _, ...rest } = parseAnswer(Stored, body, "PATCH");
  const { managedFields: _m, resourceVersion: _r, generation: _g, ...meta } = metadata;
  return JSON.stringify(sorted({ ...rest, metadata: meta }));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, sorted(one)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}
