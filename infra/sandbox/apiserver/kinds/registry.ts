/** Lists all served kinds: the built-in kinds and the kinds of CRDs. */
import { type KubeObject, apiVersionOf } from "../objects.ts";
import { ADMISSION } from "./admission.ts";
import { CORE } from "./core.ts";
import { kindsOf } from "./custom.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "./definitions.ts";
import { EVENTS } from "./events.ts";
import type { ResourceKind } from "./kind.ts";
import { OTHERS } from "./others.ts";
import { PODS } from "./pods.ts";
import { POD_DISRUPTION_BUDGETS } from "./policy.ts";
import { RBAC } from "./rbac.ts";
import { PRIORITY_CLASSES } from "./scheduling.ts";

const EXTENSION = [...ADMISSION, CUSTOM_RESOURCE_DEFINITIONS];
const BUILT_IN = [...CORE, PODS, ...EVENTS, POD_DISRUPTION_BUDGETS, PRIORITY_CLASSES, ...RBAC, ...EXTENSION, ...OTHERS];

export class KindRegistry {
  #kinds: readonly ResourceKind[] = BUILT_IN;
  #byResource = index(BUILT_IN);

  all(): readonly ResourceKind[] {
    return this.#kinds;
  }

  find(group: string, version: string, plural: string): ResourceKind | undefined {
    return this.#byResource.get(`${group}/${version}/${plural}`);
  }

  ofObject(apiVersion: string, kind: string): ResourceKind | undefined {
    return this.#kinds.find((one) => one.kind === kind && apiVersionOf(one.group, one.version) === apiVersion);
  }

  install(definition: KubeObject): void {
    const kinds = kindsOf(definition);
    const [storage] = kinds.map((one) => one.storage);
    this.#replace([...this.#kinds.filter((one) => one.storage !== storage), ...kinds]);
  }

  uninstall(definition: KubeObject): void {
    const [storage] = kindsOf(definition).map((one) => one.storage);
    this.#replace(this.#kinds.filter((one) => one.storage !== storage));
  }

  #replace(kinds: readonly ResourceKind[]): void {
    this.#kinds = kinds;
    this.#byResource = index(kinds);
  }
}

function index(kinds: readonly ResourceKind[]): Map<string, ResourceKind> {
  return new Map(kinds.map((one) => [`${one.group}/${one.version}/${one.plural}`, one]));
}
