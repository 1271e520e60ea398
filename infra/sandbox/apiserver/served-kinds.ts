/** When CustomResourceDefinitions change, updates the kinds that the server serves. */
import { setImmediate } from "node:timers/promises";
import { inBackground } from "./background.ts";
import { type ServerState, collectionOf, timestamp } from "./context.ts";
import { remove } from "./deletion.ts";
import { kindsOf } from "./kinds/custom.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, acceptNames, isEstablished } from "./kinds/definitions.ts";
import type { KubeObject } from "./objects.ts";
import { type StoredObject, parse } from "./store.ts";
import { changeStored } from "./updating.ts";
import { Bell } from "./watch-log.ts";

export function serveDefinitions(state: ServerState): void {
  const definitions = collectionOf(state, CUSTOM_RESOURCE_DEFINITIONS);
  definitions.log.react = ({ type, object }) => {
    const definition = parse(object);
    if (type === "DELETED") state.kinds.uninstall(definition);
    else if (isEstablished(definition)) install(state, definition);
    inBackground(setImmediate().then(() => settleDefinitions(state)));
  };
}

function install(state: ServerState, definition: KubeObject): void {
  const kinds = kindsOf(definition);
  state.kinds.install(definition);
  for (const { storage } of kinds.slice(0, 1)) {
    state.store.collection(storage).indexBy(kinds.map(({ selectableFields }) => selectableFields));
  }
}

/** Updates the status of all CRDs. Deletes the terminating CRDs and their objects. */
export function settleDefinitions(state: ServerState): void {
  const definitions = collectionOf(state, CUSTOM_RESOURCE_DEFINITIONS);
  const now = timestamp(state.now());
  for (const stored of definitions.list("")) {
    const others = definitions.list("").filter(({ name }) => name !== stored.name);
    if (parse(stored).metadata.deletionTimestamp !== undefined) empty(state, stored);
    else changeStored(definitions, stored, (definition) => acceptNames(definition, others.map(parse), now));
  }
}

/** Deletes the objects of a terminating CRD, and then the CRD. */
function empty(state: ServerState, stored: StoredObject): void {
  const definition = parse(stored);
  for (const kind of kindsOf(definition).slice(0, 1)) {
    const objects = collectionOf(state, kind);
    for (const object of objects.list("")) remove(state, kind, { stored: object, options: {} });
    if (objects.size === 0) continue;
    const bell = new Bell();
    const stop = objects.log.subscribe(bell);
    const drained = bell.heard().then(stop);
    return inBackground(drained.then(() => settleDefinitions(state)));
  }
  collectionOf(state, CUSTOM_RESOURCE_DEFINITIONS).remove(stored, definition);
}
