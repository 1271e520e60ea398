/** KubeVirt's VMIs and migrations as kinds of the server: only these two, as for the recording. */
import { KUBEVIRT_DEFINITIONS as DEFINITIONS } from "../../../../kubevirt/kinds.ts";
import { del, get, post } from "../../requests.ts";
import { type Step, attempt, until } from "../world.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export const served = (path: string): Step => until(get(path), ({ code }) => code === 200);

export const KUBEVIRT: readonly Step[] = ["virtualmachineinstances", "virtualmachineinstancemigrations"].flatMap(
  (plural) => [
    ...DEFINITIONS.filter(({ metadata }) => metadata.name === `${plural}.kubevirt.io`).map((definition) =>
      attempt(post(CRDS, definition)),
    ),
    served(`/apis/kubevirt.io/v1/${plural}`),
  ],
);

/** The sandbox serves all of them from the start. */
export const ONLY_THESE: readonly Step[] = ["virtualmachines", "kubevirts"].map((plural) => async (world) => {
  if (world.target.name === "sandbox") await world.take(attempt(del(`${CRDS}/${plural}.kubevirt.io`)));
});
