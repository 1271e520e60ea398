/** Tests the total requests of a pod, its QoS class, and the parsing of quantities. */
import { describe, expect, test } from "vitest";
import { type PodResources, qosClassOf, requestsOf } from "../../../../shared/kube/schemas/pod-requirements.ts";
import { milliQuantity } from "../../../../shared/kube/schemas/fields.ts";

describe("a quantity", () => {
  // prettier-ignore
  test.each([
    ["0",                     0],
    ["100m",                  100],
    ["4.35",                  4350],
    ["0.0001",                1],
    ["100n",                  1],
    ["1e-3",                  1],
    ["1E",                    1e21],
    ["128Ki",                 131_072_000],
    ["0.1Gi",                 107_374_182_400],
    ["1.5Gi",                 1_610_612_736_000],
    ["",                      0],
    ["1e",                    0],
    ["constructor",           0],
  ])("%s is %d thousandths", (text, milli) => {
    expect(milliQuantity(text)).toBe(milli);
  });

  test("of every thousandth of a CPU is exact, in any notation", () => {
    for (let milli = 0; milli <= 10_000; milli += 1) {
      expect(milliQuantity(`${milli}m`)).toBe(milli);
      expect(milliQuantity((milli / 1000).toFixed(3))).toBe(milli);
      expect(milliQuantity(`${milli}e-3`)).toBe(milli);
    }
  });
});

const asks = (requests: Readonly<Record<string, string>>, limits: Readonly<Record<string, string>> = {}) => ({
  requests,
  limits,
});
const starts = (cpu: string) => ({ ...asks({ cpu }), sidecar: false });
const accompanies = (cpu: string) => ({ ...asks({ cpu }), sidecar: true });

const pod = (tweak: Partial<PodResources>): PodResources => ({
  containers: [],
  initContainers: [],
  overhead: {},
  ...tweak,
});

describe("the requests of a pod", () => {
  const one = [asks({ cpu: "100m" })];
  // prettier-ignore
  test.each([
    ["are empty without requests of containers",                   { containers: [asks({})] },                                               {}],
    ["are those of a container",                                   { containers: [asks({ cpu: "1", memory: "1Ki", "a/b": "1" })] },          { cpu: 1000, memory: 1024, "a/b": 1 }],
    ["are the sum of containers",                                  { containers: [asks({ cpu: "100m" }), asks({ cpu: "0.2", memory: "1" })] }, { cpu: 300, memory: 1 }],
    ["are the sum of containers, rounded up at the end",           { containers: [asks({ memory: "500m" }), asks({ memory: "501m" })] },     { memory: 2 }],
    ["do not include limits",                                      { containers: [asks({ cpu: "1" }, { cpu: "2", memory: "1" })] },          { cpu: 1000 }],
    ["are those of a larger init container",                       { containers: one, initContainers: [starts("300m")] },                    { cpu: 300 }],
    ["include a sidecar",                                          { containers: one, initContainers: [accompanies("50m")] },                { cpu: 150 }],
    ["include a sidecar that starts before an init container",     { containers: one, initContainers: [accompanies("50m"), starts("200m")] }, { cpu: 250 }],
    ["do not include a sidecar for an earlier init container",     { containers: one, initContainers: [starts("200m"), accompanies("50m")] }, { cpu: 200 }],
    ["include only the sidecars before an init container",         { containers: one, initContainers: [accompanies("50m"), starts("300m"), accompanies("60m")] }, { cpu: 350 }],
    ["include overhead",                                           { containers: one, overhead: { cpu: "250m", memory: "120Mi" } },          { cpu: 350, memory: 120 * 2 ** 20 }],
    ["are the pod's own instead of the containers'",               { containers: one, initContainers: [starts("3")], pod: asks({ cpu: "2" }) }, { cpu: 2000 }],
    ["are the pod's own for the resources that a pod may request", { containers: [asks({ "a/b": "1" })], pod: asks({ "a/b": "2", "hugepages-2Mi": "4Mi", memory: "8" }) }, { "a/b": 1, "hugepages-2Mi": 2 ** 22, memory: 8 }],
    ["of a launcher pod",                                          { containers: [asks({ cpu: "200m", memory: "2366Mi", "devices.kubevirt.io/kvm": "1", "ephemeral-storage": "50M" }), asks({ cpu: "5m", memory: "35M" })] }, { cpu: 205, memory: 2366 * 2 ** 20 + 35e6, "devices.kubevirt.io/kvm": 1, "ephemeral-storage": 50e6 }],
  ])("%s", (_, tweak, requests) => {
    expect(requestsOf(pod(tweak))).toEqual(requests);
  });
});

describe("a pod is", () => {
  const full = { cpu: "1", memory: "1Gi" };
  // prettier-ignore
  test.each([
    ["BestEffort",  "without requests",                                { containers: [asks({})] }],
    ["BestEffort",  "with other resources than CPU and memory",        { containers: [asks({ "a/b": "1" }, { "a/b": "1" })] }],
    ["Burstable",   "with a request",                                  { containers: [asks({ cpu: "1m" })] }],
    ["Burstable",   "with a limit",                                    { containers: [asks({}, { memory: "1" })] }],
    ["Burstable",   "with an init container without limits",           { containers: [asks(full, full)], initContainers: [{ ...asks({}), sidecar: false }] }],
    ["Guaranteed",  "with limits equal to requests",                   { containers: [asks(full, full)] }],
    ["Guaranteed",  "with the pod's own limits equal to its requests", { containers: [asks({})], pod: asks(full, full) }],
    ["Burstable",   "with the pod's own limits above its requests",    { containers: [asks(full, full)], pod: asks({ cpu: "2" }) }],
  ])("%s: %s", (expected, _, tweak) => {
    expect(qosClassOf(pod(tweak))).toBe(expected);
  });
});
