/** The kinds of the core group except pods and events. */
import { isDeepStrictEqual } from "node:util";
import {
  duplicateValue,
  forbiddenValue,
  invalidValue,
  requiredValue,
  tooLongValue,
  unless,
  unsupportedValue,
} from "../field-errors.ts";
import { type KubeObject, childOf, isRecord, recordAt, recordsAt, stringAt, textOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { labelKeyProblems, labelValueProblems } from "../validation.ts";
import { amountOf, builtIn } from "./built-in.ts";

export const NAMESPACES = builtIn("Namespace", {
  applyDefaults: (namespace) => {
    const { name = "" } = namespace.metadata;
    namespace.metadata.labels = { ...namespace.metadata.labels, "kubernetes.io/metadata.name": name };
  },
  prepareForUpdate: (namespace, previous) => {
    namespace.spec = previous.spec;
  },
});

const NODES = builtIn("Node", {
  cells: {
    Status: nodeStatus,
    Roles: nodeRoles,
    "Internal-IP": (node) => nodeAddress(node, "InternalIP"),
    "External-IP": (node) => nodeAddress(node, "ExternalIP"),
  },
  // For an update, the real server reports each error of a taint twice.
  validate: (node, previous) => [...taintErrors(node), ...(previous === undefined ? [] : taintErrors(node))],
});

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function taintErrors(node: KubeObject): readonly FieldError[] {
  const taints = recordsAt(node, "spec.taints");
  return taints.flatMap((taint, index) => {
    const [key, value, effect] = [textOf(taint.key), textOf(taint.value), textOf(taint.effect)];
    const field = `metadata.taints[${index}]`;
    const isSecond = taints.findIndex((one) => one.key === taint.key && one.effect === taint.effect) < index;
    return [
      ...labelKeyProblems(key).map((problem) => invalidValue(`${field}.key`, key, problem)),
      ...labelValueProblems(value).map((problem) => invalidValue(`${field}.value`, value, problem)),
      ...(effect === "" ? [requiredValue(`${field}.effect`)] : []),
      ...(["", ...EFFECTS].includes(effect) ? [] : [unsupportedValue(`${field}.effect`, effect, EFFECTS)]),
      ...(isSecond ? [duplicateValue(field, taint)] : []),
    ];
  });
}

function nodeStatus(node: KubeObject): string {
  const ready = recordsAt(node, "status.conditions").find((condition) => condition.type === "Ready");
  const known = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return isRecord(node.spec) && node.spec.unschedulable === true ? `${known},SchedulingDisabled` : known;
}

function nodeRoles(node: KubeObject): string {
  const prefix = "node-role.kubernetes.io/";
  const labels = Object.keys(node.metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  const roles = labels.map((label) => label.slice(prefix.length)).toSorted();
  return roles.join(",") || "<none>";
}

function nodeAddress(node: KubeObject, type: string): string {
  const address = recordsAt(node, "status.addresses").find((one) => one.type === type);
  return stringAt(address, "address") || "<none>";
}

const DATA_LIMIT = 1024 * 1024;

function dataErrors(object: KubeObject): readonly FieldError[] {
  const sizeAt = (field: string, encoding: BufferEncoding): number =>
    Object.values(recordAt(object, field)).reduce<number>(
      (sum, one) => sum + Buffer.byteLength(textOf(one), encoding),
      0,
    );
  const size = sizeAt("data", object.kind === "Secret" ? "base64" : "utf8") + sizeAt("binaryData", "base64");
  return size > DATA_LIMIT ? [tooLongValue("[]", DATA_LIMIT)] : [];
}

const CONFIG_MAPS = builtIn("ConfigMap", {
  cells: { Data: (map) => amountOf(map.data) + amountOf(map.binaryData) },
  validate: (map, previous) => [...dataErrors(map), ...immutableErrors(map, previous)],
});

function immutableErrors(object: KubeObject, previous: KubeObject | undefined): readonly FieldError[] {
  if (previous?.immutable !== true) return [];
  const fields = ["immutable", "data", "binaryData"].filter((one) => !isDeepStrictEqual(object[one], previous[one]));
  return fields.map((field) => forbiddenValue(field, "field is immutable when `immutable` is set"));
}

const SECRETS = builtIn("Secret", {
  validate: (secret, previous) => [
    ...unless((previous ?? secret).type === secret.type, invalidValue("type", secret.type, "field is immutable")),
    ...dataErrors(secret),
    ...immutableErrors(secret, previous),
  ],
  applyDefaults: (secret) => {
    if (!isRecord(secret.stringData)) return;
    const data = childOf(secret, "data");
    for (const [key, value] of Object.entries(secret.stringData))
      data[key] = Buffer.from(textOf(value)).toString("base64");
    delete secret.stringData;
  },
});

export const CORE = [NAMESPACES, NODES, CONFIG_MAPS, SECRETS, builtIn("ServiceAccount")];
