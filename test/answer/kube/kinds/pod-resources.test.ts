/** What a pod asks for in all, its QoS class, and quantities as numbers. */
import { describe, expect, test } from "vitest";
import {
  type PodResources,
  qosClassOf,
  requestsOf,
  resourcesOf,
} from "../../../../shared/kube/schemas/pod-requirements.ts";
import { milliQuantity, quantity } from "../../../../shared/kube/schemas/fields.ts";

describe("a quantity", () => {
  // prettier-ignore
  test.each([
    ["0",                     0],
    ["1",                     1000],
    ["100m",                  100],
    ["0.1",                   100],
    ["4.35",                  4350],
    [".5",                    500],
    ["0.0001",                1],
    ["100u",                  1],
    ["100n",                  1],
    ["1e3",                   1_000_000],
    ["1e-3",                  1],
    ["1k",                    1_000_000],
    ["1E",                    1e21],
    ["128Ki",                 131_072_000],
    ["1Mi",                   1_048_576_000],
    ["0.1Gi",                 107_374_182_400],
    ["1.5Gi",                 1_610_612_736_000],
    ["-1",                    -1000],
    ["",                      0],
    ["1 Gi",                  0],
    ["many",                  0],
    ["1e",                    0],
    ["constructor",           0],
  ])("%s: %d thousandths", (text, milli) => {
    expect(milliQuantity(text)).toBe(milli);
  });

  test("every thousandth of a CPU is itself, however it is written", () => {
    for (let milli = 0; milli <= 10_000; milli += 1) {
      expect(milliQuantity(`${milli}m`)).toBe(milli);
      expect(milliQuantity((milli / 1000).toFixed(3))).toBe(milli);
      expect(milliQuantity(`${milli}e-3`)).toBe(milli);
    }
  });

  // prettier-ignore
  test.each([
    ["100m",     0.1],
    ["2Gi",      2 ** 31],
    ["123Mi",    123 * 2 ** 20],
    [undefined,  0],
    ["x",        0],
  ])("%s is %d of its unit", (text, value) => {
    expect(quantity(text)).toBe(value);
  });
});

test("resources by name: CPU in thousandths, others in whole ones, rounded up", () => {
  const quantities = {
    cpu: "3920m",
    memory: "7911Mi",
    "ephemeral-storage": "1.5",
    pods: "110",
    "example.com/gpu": "2",
  };
  expect(resourcesOf(quantities)).toEqual({
    cpu: 3920,
    memory: 7911 * 2 ** 20,
    "ephemeral-storage": 2,
    pods: 110,
    "example.com/gpu": 2,
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

describe("requests of a pod", () => {
  const one = [asks({ cpu: "100m" })];
  // prettier-ignore
  test.each([
    ["nothing",                                   {},                                                                       {}],
    ["a container that asks for nothing",         { containers: [asks({})] },                                               {}],
    ["a container",                               { containers: [asks({ cpu: "1", memory: "1Ki", "a/b": "1" })] },          { cpu: 1000, memory: 1024, "a/b": 1 }],
    ["containers are added up",                   { containers: [asks({ cpu: "100m" }), asks({ cpu: "0.2", memory: "1" })] }, { cpu: 300, memory: 1 }],
    ["before they are rounded",                   { containers: [asks({ memory: "500m" }), asks({ memory: "500m" })] },     { memory: 1 }],
    ["and then up",                               { containers: [asks({ memory: "500m" }), asks({ memory: "501m" })] },     { memory: 2 }],
    ["limits do not count",                       { containers: [asks({ cpu: "1" }, { cpu: "2", memory: "1" })] },          { cpu: 1000 }],
    ["a larger one",                              { containers: one, initContainers: [starts("300m")] },                    { cpu: 300 }],
    ["the largest of them",                       { containers: one, initContainers: [starts("300m"), starts("200m")] },    { cpu: 300 }],
    ["one that asks for something else",          { containers: one, initContainers: [{ ...asks({ memory: "5" }), sidecar: false }] }, { cpu: 100, memory: 5 }],
    ["a sidecar is added",                        { containers: one, initContainers: [accompanies("50m")] },                { cpu: 150 }],
    ["init after a sidecar: both start",          { containers: one, initContainers: [accompanies("50m"), starts("200m")] }, { cpu: 250 }],
    ["init before a sidecar: alone",              { containers: one, initContainers: [starts("200m"), accompanies("50m")] }, { cpu: 200 }],
    ["init between sidecars: the first only",     { containers: one, initContainers: [accompanies("50m"), starts("300m"), accompanies("60m")] }, { cpu: 350 }],
    ["overhead is added",                         { containers: one, overhead: { cpu: "250m", memory: "120Mi" } },          { cpu: 350, memory: 120 * 2 ** 20 }],
    ["also to a larger init container",           { containers: one, initContainers: [starts("300m")], overhead: { cpu: "1" } }, { cpu: 1300 }],
    ["the pod's own, instead of the containers'", { containers: one, initContainers: [starts("3")], pod: asks({ cpu: "2" }) }, { cpu: 2000 }],
    ["… of what a pod may ask for itself",        { containers: [asks({ "a/b": "1" })], pod: asks({ "a/b": "2", "hugepages-2Mi": "4Mi", memory: "8" }) }, { "a/b": 1, "hugepages-2Mi": 2 ** 22, memory: 8 }],
    ["a launcher pod's",                          { containers: [asks({ cpu: "200m", memory: "2366Mi", "devices.kubevirt.io/kvm": "1", "ephemeral-storage": "50M" }), asks({ cpu: "5m", memory: "35M" })] }, { cpu: 205, memory: 2366 * 2 ** 20 + 35e6, "devices.kubevirt.io/kvm": 1, "ephemeral-storage": 50e6 }],
  ])("%s", (_, tweak, requests) => {
    expect(requestsOf(pod(tweak))).toEqual(requests);
  });
});

describe("the QoS class of a pod", () => {
  const full = { cpu: "1", memory: "1Gi" };
  // prettier-ignore
  test.each([
    ["BestEffort",  "nothing",                              { containers: [asks({})] }],
    ["BestEffort",  "what is neither CPU nor memory",       { containers: [asks({ "a/b": "1" }, { "a/b": "1" })] }],
    ["Burstable",   "a request",                            { containers: [asks({ cpu: "1m" })] }],
    ["Burstable",   "a limit",                              { containers: [asks({}, { memory: "1" })] }],
    ["Burstable",   "limits above requests",                { containers: [asks(full, { cpu: "2", memory: "1Gi" })] }],
    ["Burstable",   "one container without limits",         { containers: [asks(full, full), asks({})] }],
    ["Burstable",   "an init container without limits",     { containers: [asks(full, full)], initContainers: [{ ...asks({}), sidecar: false }] }],
    ["Guaranteed",  "limits equal to requests",             { containers: [asks(full, full)] }],
    ["Guaranteed",  "… however they are written",           { containers: [asks(full, { cpu: "1000m", memory: "1024Mi" })] }],
    ["Guaranteed",  "the pod's own, equal",                 { containers: [asks({})], pod: asks(full, full) }],
    ["Burstable",   "the pod's own, not equal",             { containers: [asks(full, full)], pod: asks({ cpu: "2" }) }],
  ])("%s: %s", (expected, _, tweak) => {
    expect(qosClassOf(pod(tweak))).toBe(expected);
  });
});
