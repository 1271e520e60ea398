/** All messages of the descheduling plugins: wrong arguments, and reasons to evict a pod. */
export const PLUGIN_MESSAGES = {
  // Messages about wrong arguments
  mapping: "expected a mapping",
  list: "expected a list",
  trueOrFalse: "expected true or false",
  count: "expected a whole number, 0 or more",
  int32: "expected a whole number of 32 bits",
  duration: "expected a duration, such as 10m, 1h30m or 0.5s",
  selector: "expected a label selector, such as: d=e,f!=g,h,!i",
  labelKey: "expected the key of a label",
  labelValue: "expected the value of a label",
  labels: "expected a mapping of labels",
  operator: "expected In, NotIn, Exists or DoesNotExist",
  values: "expected values with In and NotIn, and none with Exists and DoesNotExist",
  namespace: "expected the name of a namespace",
  oneOfBoth: (one: string, other: string) => `expected ${one} or ${other}, not both`,
  oneOf: (names: readonly string[]) => `expected one of ${names.join(", ")}`,
  or: (names: readonly string[]) => `expected ${names.join(" or ")}`,
  atMost: (most: number) => `expected no more than ${most}`,
  percent: "expected a percentage, from 0 to 100",
  resource: "expected the name of a resource",
  percentages: "expected a percentage for each resource",
  atLeastOneResource: "expected at least one resource",
  targetsBelow: "expected the same resources as in thresholds, each with the same or a higher value",
  atLeastOneType: "expected at least one type",
  taint: "expected the key of a taint, or key=value",

  // Reasons to evict a pod
  antiAffinity: (node: string) =>
    `the pod's anti-affinity matches a pod that runs in the topology domain of node ${node}`,
  overUtilised: (node: string) => `node ${node} is over-utilized`,
  nodeAffinity: (node: string) => `node ${node} does not meet the pod's required node affinity`,
  notTolerated: (taint: string, node: string) => `the pod does not tolerate taint ${taint} of node ${node}`,
  tooOld: (seconds: number) => `the pod is older than ${seconds} s`,
  uneven: (key: string, most: Domain, least: Domain) =>
    `the pods are spread unevenly over ${key}: ${most.name} has ${most.size}, and ${least.name} has ${least.size}`,
} as const;

interface Domain {
  readonly name: string;
  readonly size: number;
}
