/** What a fake cluster keeps of patches, on which conditions: facts are written out as far as patches touch them, and read in again. */
import { isDeepStrictEqual } from "node:util";
import { applyJsonPatch, readJsonPatch } from "../../../infra/sandbox/apiserver/patch/json.ts";
import { applyMergePatch } from "../../../infra/sandbox/apiserver/patch/merge.ts";
import type { Answer, WriteOptions } from "../../../shared/kube/client.ts";
import { Evacuation, LifeboatConfiguration } from "../../../shared/kube/schemas/lifeboat.ts";
import type { MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import * as names from "../../../shared/kube/names.ts";
import { without } from "../fixtures.ts";
import { answer } from "./answer.ts";
import type { FakeCluster } from "./fake-cluster.ts";
import { always, type Key, type Shelf } from "./shelf.ts";

type Texts = Readonly<Record<string, string | undefined>>;

/** What patches touch of an object. */
interface Written {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Texts | undefined;
    readonly annotations?: Texts | undefined;
  };
  readonly spec?: object;
  readonly status?: object;
}

interface Patched {
  readonly resource: string;
  readonly key: NamespacedName;
  readonly body: object;
  readonly how: WriteOptions;
}

export function patchIn(fake: FakeCluster, { resource, key, body, how }: Patched): Answer {
  const change = <T extends Key>(
    shelf: Shelf<T>,
    write: (facts: T) => Written,
    read: (facts: T, now: Written) => T,
  ) => {
    const found = shelf.get(key);
    if (found === undefined) return answer(404);
    const written = write(found);
    const patched = applied(written, body);
    if (typeof patched === "number") return answer(patched);
    const isChange = how.dryRun !== true && !isDeepStrictEqual(patched, written);
    if (isChange) shelf.change(key, always, (facts) => read(facts, patched));
    return answer(200, shelf.get(key));
  };
  switch (resource) {
    case "virtualmachineinstances":
      return change(fake.vmis, ofVmi, vmiFrom);
    case "evacuations":
      if (isRetry(body, how) && !MAY_RETRY.has(fake.evacuations.get(key)?.status.phase ?? "")) return answer(422);
      return change(fake.evacuations, ofEvacuation, evacuationFrom);
    case "virtualmachineinstancemigrations":
      return change(fake.migrations, ofMigration, migrationFrom);
    case "pods":
      return change(fake.pods, ofPod, (pod, { metadata }) => ({ ...pod, annotations: present(metadata.annotations) }));
    case "lifeboatconfigurations":
      return configure(fake, body);
    default:
      throw new Error(`nothing patches ${resource}`);
  }
}

/** As the definition demands. */
const MAY_RETRY: ReadonlySet<string> = new Set(["BackingOff", "Blocked"]);

function isRetry(body: object, { subresource }: WriteOptions): boolean {
  return subresource === undefined && "spec" in body && JSON.stringify(body.spec).includes("retryAt");
}

/** The code, if it does not apply. */
function applied(written: Written, body: object): Written | number {
  const object = structuredClone(written);
  if (!Array.isArray(body)) {
    const merged = applyMergePatch(object, body);
    if (!isWritten(merged)) return 422;
    const { uid, resourceVersion } = merged.metadata;
    const isSame = isDeepStrictEqual([uid, resourceVersion], [object.metadata.uid, object.metadata.resourceVersion]);
    return isSame ? merged : 409;
  }
  try {
    const patched = applyJsonPatch(object, readJsonPatch(JSON.parse(JSON.stringify(body))));
    return isWritten(patched) ? patched : 422;
  } catch {
    return 422;
  }
}

function isWritten(value: unknown): value is Written {
  return typeof value === "object" && value !== null && "metadata" in value;
}

function present(texts: Texts = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));
}

function ofVmi(vmi: VmiFacts): Written {
  const { uid, resourceVersion, nodeName, evacuationNodeName } = vmi;
  const labels = present({ [names.EVACUATION_LABEL]: vmi.evacuationLabel, [names.SHIELD_LABEL]: vmi.shield });
  const annotations = present({ [names.EVICTION_SOURCE_ANNOTATION]: vmi.evictionSource });
  const maps = { ...(vmi.hasLabels && { labels }), ...(vmi.hasAnnotations && { annotations }) };
  return { metadata: { uid, resourceVersion, ...maps }, status: present({ nodeName, evacuationNodeName }) };
}

function vmiFrom(vmi: VmiFacts, { metadata: { labels = {}, annotations = {} } }: Written): VmiFacts {
  const evacuationLabel = labels[names.EVACUATION_LABEL];
  const shield = labels[names.SHIELD_LABEL];
  const evictionSource = annotations[names.EVICTION_SOURCE_ANNOTATION];
  return {
    ...without(vmi, "evacuationLabel", "shield", "evictionSource"),
    ...(evacuationLabel !== undefined && { evacuationLabel }),
    ...(shield !== undefined && { shield }),
    ...(evictionSource !== undefined && { evictionSource }),
    hasLabels: vmi.hasLabels || Object.keys(labels).length > 0,
  };
}

function ofEvacuation({ uid, resourceVersion, spec, status }: EvacuationFacts): Written {
  const { vmiName, ...rest } = spec;
  return { metadata: { uid, resourceVersion }, spec: { virtualMachineInstance: { name: vmiName }, ...rest }, status };
}

function evacuationFrom(evacuation: EvacuationFacts, { metadata, spec, status }: Written): EvacuationFacts {
  const { namespace, name, createdAt } = evacuation;
  const object = JSON.parse(JSON.stringify({ metadata: { namespace, name, ...metadata }, spec, status }));
  return { ...Evacuation.parse(object), createdAt };
}

function ofMigration({ uid, resourceVersion }: MigrationFacts): Written {
  return { metadata: { uid, resourceVersion, annotations: {} } };
}

function migrationFrom(migration: MigrationFacts, { metadata: { annotations = {} } }: Written): MigrationFacts {
  const cause = annotations[names.CAUSE_ANNOTATION];
  const skips = names.SKIP_BACKOFF_ANNOTATION in annotations;
  return { ...migration, ...(cause !== undefined && { cause }), ...(skips && { skipsBackoff: true }) };
}

function ofPod(pod: PodFacts & { readonly resourceVersion?: string }): Written {
  const { uid, annotations, resourceVersion = "1" } = pod;
  return { metadata: { uid, resourceVersion, annotations } };
}

function configure(fake: FakeCluster, body: object): Answer {
  const { configuration } = fake;
  if (configuration === undefined) return answer(404);
  const { resourceVersion, generation, spec, conditions } = configuration;
  const identity = { name: names.CONFIGURATION, uid: "configuration", resourceVersion };
  const patched = applied({ metadata: identity, status: { conditions } }, body);
  if (typeof patched === "number") return answer(patched);
  const object = { metadata: { ...patched.metadata, generation }, spec, status: patched.status };
  fake.configuration = { ...LifeboatConfiguration.parse(object), ...fake.version() };
  return answer(200);
}
