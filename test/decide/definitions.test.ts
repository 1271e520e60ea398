/** Tests that the CustomResourceDefinitions of Lifeboat's kinds match the code. */
import { describe, expect, test } from "vitest";
import { END_PHASES, EVACUATION_BOUNDS, type EvacuationFacts } from "../../shared/kube/evacuation.ts";
import {
  NODE_END_PHASES,
  NODE_EVACUATION_BOUNDS,
  type NodeEvacuationFacts,
} from "../../shared/kube/node-evacuation.ts";
import { type Resource, RESOURCES } from "../../shared/kube/resources.ts";
import { Evacuation, type EvacuationRead, LifeboatConfiguration } from "../../shared/kube/schemas/lifeboat.ts";
import {
  NodeEvacuation,
  type NodeEvacuationRead,
  RollingMaintenance,
  type RollingMaintenanceRead,
} from "../../shared/kube/schemas/maintenance.ts";
import {
  ROLLING_BOUNDS,
  ROLLING_END_PHASES,
  type RollingMaintenanceFacts,
} from "../../shared/kube/rolling-maintenance.ts";
import type { NodeVerdict } from "../../shared/preflight/facts.ts";
import { LONGEST_MESSAGE } from "../../shared/settings/conditions.ts";
import { Spec } from "../../shared/settings/configuration.ts";
import { FEATURE_GATES } from "../../shared/settings/settings.ts";
import { definedFields, Definition, differencesOf, type Fields, readFields } from "../support/manifests/fields.ts";
import { readManifests } from "../support/manifests/shipped.ts";

interface Kind {
  readonly file: string;
  readonly plural: Resource;
  readonly code: Fields;
  /** Fields that the code does not read, with the reason for each field. */
  readonly unread: Readonly<Record<string, string>>;
  /** The allowed values of fields that the code reads as strings. */
  readonly words: Readonly<Record<string, readonly string[]>>;
  readonly lists: readonly (readonly string[])[];
  /** The limits of fields that the code writes: the longest text, the longest list or the highest number. */
  readonly written: Readonly<Record<string, number>>;
  /** The columns of `kubectl get`. `kubectl get -o wide` adds the columns in `wide`. */
  readonly columns: { readonly narrow: string; readonly wide: string };
  readonly shortNames: readonly string[];
}

/** The API server accepts three values for the status of a condition. The code reads only two of these values. */
const STATUSES = { "status.conditions[].status": ["True", "False", "Unknown"] };
const VERDICTS = { WillBlock: 0, NoRoom: 0, Unknown: 0, WillSucceedWithShutdowns: 0, WillSucceed: 0 } satisfies Record<
  NodeVerdict,
  number
>;

const KINDS: Readonly<Record<string, Kind>> = {
  Evacuation: {
    file: "crds/evacuations.yaml",
    plural: "evacuations",
    code: readFields(Evacuation),
    unread: {},
    words: STATUSES,
    lists: [END_PHASES, ["BackingOff", "Blocked"]],
    written: EVACUATION_BOUNDS,
    columns: { narrow: "VM, From, To, Cause, Phase, Attempts, Age", wide: "Requested By, Migration, Message" },
    shortNames: ["evac"],
  },
  NodeEvacuation: {
    file: "crds/nodeevacuations.yaml",
    plural: "nodeevacuations",
    code: readFields(NodeEvacuation),
    unread: { "spec.reason": "for people" },
    words: { ...STATUSES, "status.verdict": Object.keys(VERDICTS) },
    lists: [NODE_END_PHASES],
    written: NODE_EVACUATION_BOUNDS,
    columns: {
      narrow: "Node, Phase, Left, Moving, Blocked, ETA, Age",
      wide: "Not Before, Progress, Verdict, Message",
    },
    shortNames: ["nevac"],
  },
  RollingMaintenance: {
    file: "crds/rollingmaintenances.yaml",
    plural: "rollingmaintenances",
    code: readFields(RollingMaintenance),
    unread: { "spec.reason": "for people" },
    words: {},
    lists: [ROLLING_END_PHASES],
    written: ROLLING_BOUNDS,
    columns: {
      narrow: "Phase, Nodes, Evacuated, Active, Failed, ETA, Age",
      wide: "Not Before, Not After, Progress, Message",
    },
    shortNames: ["rollm"],
  },
  LifeboatConfiguration: {
    file: "crds/lifeboatconfigurations.yaml",
    plural: "lifeboatconfigurations",
    code: new Map([...readFields(LifeboatConfiguration), ...readFields(Spec, "spec", true)]),
    unread: { "status.observedGeneration": "for people, and for kubectl wait; the code reads that of the conditions" },
    words: STATUSES,
    lists: [FEATURE_GATES],
    written: { "status.conditions[].message": LONGEST_MESSAGE },
    columns: { narrow: "Valid, Age", wide: "" },
    shortNames: [],
  },
};

describe.each(Object.entries(KINDS))("%s", (kind, { file, plural, code, unread, words, lists, written, ...shown }) => {
  const manifest = readManifests(file)[0];
  const definition = Definition.parse(manifest);
  const [version] = definition.spec.versions;
  const fields = definedFields(definition);
  const known = new Map([...code].filter(([path]) => /^(spec|status)\b/.test(path)));

  test("has the same fields in its definition and in the code", () => {
    const dropped = [...known.keys()].filter((path) => !fields.has(path));
    expect(dropped, `the API server drops what ${file} does not have`).toEqual([]);
    const without = [...fields.keys()].filter((path) => !known.has(path));
    expect(without, `${file} has them, but no code reads them`).toEqual(Object.keys(unread));
  });

  test("has the same types, bounds and defaults in its definition and in the code", () => {
    const differences = [...known].flatMap(([path, its]) => {
      const found = fields.get(path) ?? its;
      return differencesOf({ ...its, words: its.words ?? words[path] }, found).map((what) => `${path}: ${what}`);
    });
    expect(differences, file).toEqual([]);
  });

  test("has the same enumerations in its rules and in the code", () => {
    const inRules = [...JSON.stringify(manifest).matchAll(/ in \[([^\]]*)\]/g)].map(([, list = ""]) => {
      return [...list.matchAll(/'(\w+)'/g)].map(([, word]) => word);
    });
    expect(inRules, file).toEqual(expect.arrayContaining(lists.map((list) => [...list])));
    expect(inRules.length, file).toBe(lists.length);
  });

  test("has a default for each object that contains a default, because the API server sets no defaults in absent objects", () => {
    const around = [...fields].flatMap(([path, { fallback }]) => (fallback === undefined ? [] : outerOf(path)));
    const absent = around.filter((path) => {
      const { isRequired, fallback } = fields.get(path) ?? {};
      return isRequired !== true && fallback === undefined;
    });
    expect(absent, file).toEqual([]);
  });

  test("allows all values that the code writes", () => {
    const exceeded = Object.entries(written).flatMap(([path, most]) => {
      const { bounds = {} } = fields.get(path) ?? {};
      const allowed = bounds.maxLength ?? bounds.maxItems ?? bounds.maximum ?? 0;
      return most > allowed ? [`${path}: the code writes up to ${most}, the definition allows ${allowed}`] : [];
    });
    expect(exceeded, file).toEqual([]);
    const bounded = [...fields].filter(
      ([
        ,
        {
          bounds: { maxLength, maxItems },
        },
      ]) => (maxLength ?? maxItems) !== undefined,
    );
    const others = bounded.map(([path]) => path).filter((path) => !(path in written) && !OTHER_BOUNDS.test(path));
    expect(others, `${file} has bounds to which no code keeps`).toEqual([]);
  });

  test("has columns in kubectl get that are fields", () => {
    const columns = version.additionalPrinterColumns;
    const namesOf = (isWide: boolean) =>
      columns.filter(({ priority }) => priority > 0 === isWide).map(({ name }) => name);
    expect({ narrow: namesOf(false).join(", "), wide: namesOf(true).join(", ") }, file).toEqual(shown.columns);
    const paths = [...columns, ...version.selectableFields].map(({ jsonPath }) =>
      jsonPath.replace(/\[\?.*?\]/, "[]").slice(1),
    );
    const unknown = paths.filter((path) => !fields.has(path) && path !== "metadata.creationTimestamp");
    expect(unknown, `${file}: a column, or what can be selected by, is not a field`).toEqual([]);
  });

  test("has the same kind, plural and short names in its definition and in the code", () => {
    const { group, names } = definition.spec;
    expect(names, file).toEqual({ kind, plural, shortNames: shown.shortNames });
    expect(RESOURCES[plural].api, file).toBe(`/apis/${group}/${version.name}`);
  });
});

/**
 * Matches fields that need no entry in `written`. Kubernetes, KubeVirt or an administrator sets their limit, or
 * Lifeboat writes only short texts into them.
 */
const OTHER_BOUNDS =
  /(name|namespace|nodeName|nodeEvacuation|nodes\.names(\[\])?|matchLabels\{\}|uid|UID|podName|Node|after|runStrategy|reason|whoCanFix|type|status\.conditions|guard\.\w+(\[\])?)$/;

/** Returns the parents of a path. For `spec.guard.requesters`, these are `spec` and `spec.guard`. */
function outerOf(path: string): readonly string[] {
  const names = path.split(".");
  return names.slice(1).map((_, at) => names.slice(0, at + 1).join("."));
}

type Paths<T> = T extends readonly (infer Item)[]
  ? Paths<Item>
  : T extends object
    ? { [K in keyof T & string]-?: K | `${K}.${Paths<NonNullable<T[K]>>}` }[keyof T & string]
    : never;
type None<P extends never> = P;

/**
 * Does not compile if the facts have a field that no schema reads. The compiler's error contains the name of the field.
 */
export type Unread = [
  None<Exclude<Paths<EvacuationFacts>, Paths<EvacuationRead>>>,
  None<Exclude<Paths<NodeEvacuationFacts>, Paths<NodeEvacuationRead>>>,
  None<Exclude<Paths<RollingMaintenanceFacts>, Paths<RollingMaintenanceRead>>>,
];
