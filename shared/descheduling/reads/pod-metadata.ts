/** Labels and annotations of pods, kept small. */
import * as z from "zod/mini";
import { Texts } from "../../cluster/kinds/fields.ts";
import type { Labels } from "../plugins/facts.ts";
import * as names from "../../policy/names.ts";

const NONE: Labels = {};

/** The annotations that descheduling reads. Others may be large. */
const KNOWN_ANNOTATIONS = [
  names.DOMAIN_ANNOTATION,
  names.REQUEST_EVICT_ONLY_ANNOTATION,
  names.EVICTION_IN_PROGRESS_ANNOTATION,
  names.EVICT_ANNOTATION,
  names.PREFER_NO_EVICTION_ANNOTATION,
  names.MIRROR_POD_ANNOTATION,
  names.CONFIG_SOURCE_ANNOTATION,
  names.EVACUATION_REQUESTED_ANNOTATION,
];

/** `exists`: whether there is a map at all; JSON patch cannot add below a missing one. */
export const PodAnnotations = z.pipe(
  Texts,
  z.transform((annotations) => ({
    exists: annotations !== undefined && annotations !== null,
    known: knownOf(annotations ?? NONE),
  })),
);

function knownOf(annotations: Labels): Labels {
  const known = KNOWN_ANNOTATIONS.flatMap((name) => {
    const value = annotations[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return known.length === 0 ? NONE : Object.fromEntries(known);
}
