/** The keys of a recorded answer, each read from a response. */
import type { Response } from "../client.ts";
import { valueAt } from "../value-at.ts";
import { matches, matchesCut } from "./matching.ts";

export interface Seen {
  readonly response: Response;
  readonly path: string;
  /** The resourceVersion that an earlier answer on the same path had. */
  readonly before: unknown;
  /** The recorded value: some keys have several forms. */
  readonly recorded: unknown;
}

export interface Difference {
  readonly key: string;
  readonly expected: unknown;
  readonly got: unknown;
}

export function differences(
  answer: Readonly<Record<string, unknown>>,
  context: Omit<Seen, "recorded">,
): readonly Difference[] {
  return Object.entries(answer).flatMap(([key, expected]) => {
    const read = READERS[key] ?? at(key);
    const got = read({ ...context, recorded: expected });
    const same = key === "message" ? matchesCut(expected, got) : matches(expected, got);
    return same ? [] : [{ key, expected, got }];
  });
}

type Reader = (seen: Seen) => unknown;

/** Any other key is a dotted path into the body. */
function at(path: string): Reader {
  return ({ response }) => valueAt(response.body, path);
}

const listAt = (seen: Seen, path: string): readonly unknown[] => {
  const list = at(path)(seen);
  return Array.isArray(list) ? list : [];
};

const stringsAt = (seen: Seen, path: string): readonly string[] => listAt(seen, path).map(String);

const present =
  (path: string): Reader =>
  (seen) =>
    at(path)(seen) !== undefined;

const READERS: Readonly<Record<string, Reader>> = {
  code: ({ response }) => response.code,
  http: ({ response }) => response.code,
  jcode: at("code"),
  name: at("details.name"),
  dkind: at("details.kind"),
  retry: at("details.retryAfterSeconds"),
  causes,
  header: ({ response }) => response.headers["retry-after"],
  // Node joins repeated headers.
  warn: ({ response }) => [String(response.headers.warning ?? "").replace(/^299 - /, "")],
  t: ({ response }) => response.text,
  has: ({ response }) => response.text.includes("apiserver_"),
  ok: ({ response }) => response.code < 500,

  names: (seen) => [...stringsAt(seen, "items.metadata.name"), ...stringsAt(seen, "resources.name")].toSorted(),
  more: (seen) => Boolean(at("metadata.continue")(seen)),
  item: (seen) => Object.keys(Object(at("items.0")(seen))).toSorted(),
  rv: present("metadata.resourceVersion"),
  same: (seen) => at("metadata.resourceVersion")(seen) === (askedVersion(seen) ?? seen.before),
  n,

  ts: present("metadata.deletionTimestamp"),
  grace: at("metadata.deletionGracePeriodSeconds"),
  gen: at("metadata.generation"),
  ann: at("metadata.annotations"),
  f: at("metadata.finalizers"),
  kept: (seen) => !String(at("metadata.creationTimestamp")(seen)).startsWith("2020"),
  shape: (seen) => /^g-[a-z0-9]{5}$/.test(String(at("metadata.name")(seen))),
  owners,

  images: (seen) => listAt(seen, "spec.containers").map((container) => joined(container, ["name", "image"], "=")),
  tol: (seen) => stringsAt(seen, "spec.tolerations.key").filter(isOurs),
  taints: (seen) => stringsAt(seen, "spec.taints.key").filter(isOurs),
  conditions: (seen) =>
    listAt(seen, "status.conditions").map((condition) => joined(condition, ["type", "status"], "=")),
  cond,
  c: conditionsInShort,
  s: (seen) => BUDGET_STATUS.map((field) => at(`status.${field}`)(seen)),
  ids: (seen) => listAt(seen, "spec.parts").map((part) => joined(part, ["id", "mode"])),
  w: at("webhooks"),
  err: present("status.error"),
  aud: (seen) => valueAt(claimsOf(String(at("status.token")(seen))), "aud"),

  cols: columns,
  // The recording omits varying cells at the end of a row.
  cells: (seen) => {
    const recorded = Array.isArray(seen.recorded) ? seen.recorded : [];
    return listAt(seen, "rows.cells").map((row, index) => Object(row).slice(0, recorded[index]?.length));
  },
  object: at("rows.0.object.kind"),
  eviction: (seen) => resource(seen, "pods/eviction", ["group", "version", "kind", "namespaced", "verbs"]),
  pods: (seen) => resource(seen, "pods", ["kind", "singularName", "namespaced", "shortNames", "verbs"]),
};

const BUDGET_STATUS = ["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods", "observedGeneration"];

/** In full, as pairs of reason and message, or as texts of the field, with or without the message. */
function causes(seen: Seen): unknown {
  const recorded: readonly unknown[] = Array.isArray(seen.recorded) ? seen.recorded : [];
  return listAt(seen, "details.causes").map((cause, index) => {
    const form = recorded[index];
    if (Array.isArray(form)) return [valueAt(cause, "reason"), valueAt(cause, "message")];
    if (typeof form !== "string") return cause;
    return form.includes(" ") ? joined(cause, ["field", "message"], " ") : valueAt(cause, "field");
  });
}

function askedVersion({ path }: Seen): string | null {
  return new URL(path, "https://any").searchParams.get("resourceVersion");
}

/** The number of containers, whether there is an item, or a message up to the recorded length. */
function n(seen: Seen): unknown {
  if (typeof seen.recorded === "number") return listAt(seen, "spec.containers").length;
  return String(at("message")(seen)).length >= 1024 || listAt(seen, "items").length > 0;
}

/** Only of the recorded managers. */
function owners(seen: Seen): unknown {
  const texts = listAt(seen, "metadata.managedFields").map((entry) => {
    const owner = ["manager", "operation", "subresource"].map((field) => valueAt(entry, field)).filter(Boolean);
    return `${owner.join("/")} ${JSON.stringify(valueAt(entry, "fieldsV1"))}`;
  });
  const managers = new Set((Array.isArray(seen.recorded) ? seen.recorded : []).map(managerOf));
  return texts.filter((text) => managers.has(managerOf(text))).toSorted();
}

function managerOf(owner: unknown): string | undefined {
  return String(owner).split("/")[0];
}

/** The reason of a pod's disruption, or whether it has the applied condition. */
function cond(seen: Seen): unknown {
  const conditions = listAt(seen, "status.conditions");
  if (seen.recorded === true) return conditions.some((condition) => valueAt(condition, "type") === "fid.io/x");
  return conditions
    .filter((condition) => valueAt(condition, "type") === "DisruptionTarget")
    .map((condition) => joined(condition, ["status", "reason"], "/"));
}

/** A budget's conditions in full, the reason of a pod's disruption, or the types of conditions. */
function conditionsInShort(seen: Seen): unknown {
  const conditions = listAt(seen, "status.conditions");
  const [form]: readonly unknown[] = Array.isArray(seen.recorded) ? seen.recorded : [];
  if (Array.isArray(form))
    return conditions
      .filter((condition) => valueAt(condition, "type") === "DisruptionTarget")
      .map((condition) =>
        ["status", "reason", "message", "observedGeneration"].map((field) => valueAt(condition, field)),
      );
  if (typeof form === "string" && form.includes("="))
    return conditions.map((condition) => {
      const rest = joined(condition, ["status", "reason", "message", "observedGeneration"], "/");
      return `${String(valueAt(condition, "type"))}=${rest}`;
    });
  return conditions.map((condition) => valueAt(condition, "type"));
}

function columns(seen: Seen): unknown {
  const recorded: readonly unknown[] = Array.isArray(seen.recorded) ? seen.recorded : [];
  return listAt(seen, "columnDefinitions").map((column, index) => {
    const form: unknown = recorded[index];
    const length = Array.isArray(form) ? form.length : 0;
    const fields =
      length === 3 ? ["name", "type", "priority"] : ["name", "type", "format", "priority"].slice(0, length);
    return fields.map((field) => valueAt(column, field));
  });
}

function resource(seen: Seen, name: string, fields: readonly string[]): unknown {
  return listAt(seen, "resources")
    .filter((entry) => valueAt(entry, "name") === name)
    .map((entry) => fields.map((field) => valueAt(entry, field)));
}

function joined(value: unknown, fields: readonly string[], separator = ""): string {
  return fields.map((field) => String(valueAt(value, field))).join(separator);
}

/** Without what a controller or admission adds by itself. */
function isOurs(key: string): boolean {
  return !key.startsWith("node.kubernetes.io/");
}

function claimsOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString() || "{}");
}
