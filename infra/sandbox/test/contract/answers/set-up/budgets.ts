/** Budgets and their effect on evictions. */
import { del, get, patch, post } from "../../requests.ts";
import type { Scenes, Step, World } from "../world.ts";
import { keep } from "../world.ts";
import { B, READY, UNREADY, budget, counted, over, pod, runningPod, status } from "./objects.ts";

const U = over({ app: "u" });
const SH = "/apis/policy/v1/namespaces/fid-b/poddisruptionbudgets/sh";
const sh = (...form: [spec: object, counts: Parameters<typeof budget>[3]]): readonly Step[] =>
  budget("fid-b", "sh", ...form);
const u2 = (value: object): Step => status(`${B}/pods/u2`, value);
const ph = (phase: string): Step => status(`${B}/pods/ph`, { phase });

/** A launcher of the VMI v1. */
const launcher: Step = async (world: World) => {
  const path = "/apis/kubevirt.io/v1/namespaces/fid-b/virtualmachineinstances/v1";
  await world.take(keep("v1", get(path)));
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "v1", controller: true };
  const ownerReferences = [{ ...owner, uid: world.answer("v1", "metadata.uid") }];
  for (const step of runningPod(B, "virt-launcher-v1", { app: "launcher" }, {}, { ownerReferences }))
    await world.take(step);
};
const LAUNCHER = over({ app: "launcher" });

const u1Preconditions: NonNullable<Scenes[string]["asks"]> = (request, world) => {
  const body = Object(request.body);
  const fields = Object.keys(Object(body.deleteOptions?.preconditions));
  const preconditions = Object.fromEntries(fields.map((field) => [field, world.answer("u1", `metadata.${field}`)]));
  return { ...request, body: { ...body, deleteOptions: { preconditions } } };
};

export const BUDGETS: Scenes = {
  "one may go": {
    before: [
      ...runningPod(B, "u1", { app: "u" }),
      ...runningPod(B, "u2", { app: "u" }),
      ...sh({ ...U, minAvailable: 1 }, [2, 1, 1, 2]),
    ],
  },
  "budget: minAvailable 2 of two": { before: sh({ ...U, minAvailable: 2 }, [2, 2, 0, 2]), controllers: true },
  "budget: minAvailable 3 of two": { before: sh({ ...U, minAvailable: 3 }, [2, 3, 0, 2]), controllers: true },
  "budget: minAvailable 0": { before: sh({ ...U, minAvailable: 0 }, [2, 0, 2, 2]), controllers: true },
  "without a controller, 50%": { before: sh({ ...U, minAvailable: "50%" }, [2, 0, 0, 0]) },
  "without a controller, max 1": { before: sh({ ...U, maxUnavailable: 1 }, [2, 0, 0, 0]) },
  "budget: nothing selected": {
    before: sh({ ...over({ app: "none" }), minAvailable: 1 }, [0, 1, 0, 0]),
    controllers: true,
  },
  "a budget without selector protects nobody": { before: sh({ minAvailable: 1 }, [0, 1, 0, 0]) },
  "an empty selector protects everybody": { before: sh({ minAvailable: 99, selector: {} }, [4, 99, 0, 8]) },
  "budget: before a change": { before: sh({ ...U, minAvailable: 1 }, [2, 1, 1, 2]), controllers: true },
  "budget: and is observed": {
    before: [patch(SH, "merge", { spec: { minAvailable: 2 } }), counted(SH, [2, 2, 0, 2])],
    controllers: true,
  },
  "budget: ready, running": { before: sh({ ...U, minAvailable: 1 }, [2, 1, 1, 2]), controllers: true },
  "unready, others suffice": { before: [u2(UNREADY), counted(SH, [1, 1, 0, 2])] },
  "budget: two needed, one healthy": { before: sh({ ...U, minAvailable: 2 }, [1, 2, 0, 2]), controllers: true },
  "budget: AlwaysAllow": {
    before: sh({ ...U, minAvailable: 2, unhealthyPodEvictionPolicy: "AlwaysAllow" }, [1, 2, 0, 2]),
    controllers: true,
  },
  "budget: IfHealthyBudget": {
    before: sh({ ...U, minAvailable: 2, unhealthyPodEvictionPolicy: "IfHealthyBudget" }, [1, 2, 0, 2]),
    controllers: true,
  },
  "phase Pending, budget unmet": {
    before: [post(`${B}/pods`, pod("ph", { app: "u" })), ph("Pending"), counted(SH, [1, 2, 0, 3])],
  },
  "phase Failed, budget unmet": { before: [ph("Failed")] },
  "phase Unknown, budget unmet": { before: [ph("Unknown")] },
  "preconditions: right uid": {
    before: [
      del(`${B}/pods/ph`, { gracePeriodSeconds: 0 }),
      u2(READY),
      ...sh({ ...U, minAvailable: 1 }, [2, 1, 1, 2]),
      keep("u1", get(`${B}/pods/u1`)),
    ],
    asks: u1Preconditions,
  },
  "preconditions: right resourceVersion": { asks: u1Preconditions },
  "budget: Table": {
    before: [del(`${B}/pods/u1`, { gracePeriodSeconds: 0 })],
  },
  "the VMI stays": { before: [launcher, ...sh({ ...LAUNCHER, minAvailable: 1 }, [1, 1, 0, 1])] },
  "budget: minAvailable 2 over a VMI": {
    before: sh({ ...LAUNCHER, minAvailable: 2 }, [1, 2, 0, 1]),
    controllers: true,
  },
  "budget: maxUnavailable 0 over a VMI": {
    before: sh({ ...LAUNCHER, maxUnavailable: 0 }, [0, 0, 0, 0]),
    controllers: true,
  },
  "budget: minAvailable 100% over a VMI": {
    before: sh({ ...LAUNCHER, minAvailable: "100%" }, [0, 0, 0, 0]),
    controllers: true,
  },
};
