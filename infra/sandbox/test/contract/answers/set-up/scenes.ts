/** What each question needs. */
import { del } from "../../requests.ts";
import { QUESTIONS } from "../questions.ts";
import { type Scenes, type Step, attempt } from "../world.ts";
import { ACCOUNTS } from "./accounts.ts";
import { BODIES } from "./bodies.ts";
import { BUDGETS } from "./budgets.ts";
import { CUSTOM } from "./custom.ts";
import { FIRST } from "./first.ts";
import { KUBEVIRT, ONLY_THESE } from "./kubevirt.ts";
import { SECOND } from "./second.ts";
import { WEBHOOKS } from "./webhooks.ts";

const PARTS: readonly Scenes[] = [FIRST, SECOND, CUSTOM, BUDGETS, ACCOUNTS, WEBHOOKS, BODIES];

export const SCENES: Scenes = merged();

function merged(): Scenes {
  const scenes: Record<string, Scenes[string]> = {};
  const known = new Set(QUESTIONS.map(({ question }) => question));
  for (const [question, scene] of PARTS.flatMap((part) => Object.entries(part))) {
    if (!known.has(question)) throw new Error(`a scene without a question: ${question}`);
    const other = scenes[question];
    scenes[question] = { ...other, ...scene, before: [...(other?.before ?? []), ...(scene.before ?? [])] };
  }
  return scenes;
}

export const SET_UP: readonly Step[] = [...KUBEVIRT, ...ONLY_THESE];

/** For a cluster that is used again. */
export const TEAR_DOWN: readonly Step[] = [
  "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/fid",
  "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/fid",
  "/api/v1/namespaces/fid",
  "/api/v1/namespaces/fid-b",
  "/api/v1/nodes/fid-node",
  "/api/v1/nodes/fid-node2",
  ...["things.fid.io", "rules.fid.io"].map((name) => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`),
  ...["fid-sa", "fid-b-s1"].flatMap((name) =>
    ["clusterroles", "clusterrolebindings"].map((plural) => `/apis/rbac.authorization.k8s.io/v1/${plural}/${name}`),
  ),
].map((path) => attempt(del(path)));
