/**
 * What requests of ours change, in the words of explain: told from the requests alone, in the order they go out in.
 * Owns: recognising what an eviction may need done before its answer. Does not own: the story, which follows it.
 */
import * as z from "zod/mini";
import type { Before } from "./doors.ts";

const MARK = "/status/evacuationNodeName";
const LABEL = "/metadata/labels/lifeboat.dev~1evacuation";
const Patch = z.array(z.object({ op: z.string(), path: z.string(), value: z.optional(z.unknown()) }));
const A_BUDGET = /\/poddisruptionbudgets\/[^/]+$/;
const A_VMI = /\/virtualmachineinstances\/[^/]+$/;

/** By what is added and taken away, tests left out. */
const CHANGES: readonly (readonly [verb: string, resource: RegExp, changes: readonly string[]])[] = [
  ["GrowBudget", A_BUDGET, ["add /metadata/labels/lifeboat.dev~1touched", "add /spec/minAvailable"]],
  ["Mark", A_VMI, [`add ${MARK}`]],
  ["Mark", A_VMI, [`add ${LABEL}`, `add ${MARK}`]],
  ["Unmark", A_VMI, [`remove ${MARK}`]],
  ["Unmark", A_VMI, [`remove ${LABEL}`, `remove ${MARK}`]],
];

export interface Written {
  /** Notes what goes out. */
  readonly before: Before;
  /** Everything since the last time: verbs, and what is none of them as it was sent. */
  take(): readonly string[];
}

export function startWriting(): Written {
  let verbs: string[] = [];
  return {
    before(request, { body }) {
      if (/^GET .*\/poddisruptionbudgets\/[^/]+$/.test(request)) return void verbs.push("EnsureBudget");
      if (request.startsWith("GET ") || /^POST .*\/events$/.test(request)) return;
      // There was none: it is made; and one that is to grow is grown again, whoever has made it meanwhile.
      if (/^POST .*\/poddisruptionbudgets$/.test(request)) {
        verbs = verbs.filter((verb) => verb !== "GrowBudget");
        return;
      }
      verbs.push(verbOf(request, typeof body === "string" ? body : ""));
    },
    take() {
      const taken = verbs;
      verbs = [];
      return inOrder(taken);
    },
  };
}

/** An Evacuation is written at the same time as the rest: it comes first. */
export function inOrder(verbs: readonly string[]): readonly string[] {
  return [...verbs.filter(isCreation), ...verbs.filter((verb) => !isCreation(verb))];
}

function isCreation(verb: string): boolean {
  return verb === "CreateEvacuation";
}

function verbOf(request: string, body: string): string {
  const [method = "", path = ""] = request.split(" ");
  if (method === "POST" && path.endsWith("/evacuations")) return "CreateEvacuation";
  const sent = method === "PATCH" ? Patch.parse(JSON.parse(body)) : [];
  const changes = sent.flatMap(({ op, path: place }) => (op === "test" ? [] : [`${op} ${place}`]));
  const found = CHANGES.find(([, resource, expected]) => resource.test(path) && isSame(expected, changes));
  return found?.[0] ?? `${request} ${body}`;
}

function isSame(expected: readonly string[], changes: readonly string[]): boolean {
  return expected.toSorted().join() === changes.toSorted().join();
}
