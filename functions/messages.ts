/** All messages of the endpoints, in answers and log lines. Each message says what happened, why, and what to do. */

export const ENDPOINT_MESSAGES = {
  // Answers to callers whose requests are rejected
  noRoute: "no such route",
  noCluster: "Lifeboat has no cluster of this name",
  noToken: "expected the cluster's webhookToken, in Authorization: Bearer TOKEN or as the last segment of the path",
  notTheOperator:
    "expected Authorization: Bearer TOKEN with the cluster's operatorToken, or with the webhookToken if there is no operatorToken",
  foreignForm: "expected a form that was submitted from this page",
  badSignature: "expected Standard Webhooks headers, signed with the cluster's relaySecret, at most 5 minutes old",
  invalid: "invalid",
  smallerBody: "expected a smaller body",
  bodyAtMost: (bytes: number) => `expected a body of at most ${bytes} bytes`,
  wholeBody: "expected the whole body, but the connection ended early",
  otherContentType: "expected another content type",
  trueOrFalse: "expected true or false",
  noNode: "no such node in the cluster",
  noNodeEvacuation: "no such NodeEvacuation in the cluster",
  noRollingMaintenance: "no such RollingMaintenance in the cluster",
  noVm: "the cluster has no VMI of this name, and no evacuation or migration of a VMI with this name",
  clusterUnavailable: "the API server does not answer",
  objectUnreadable: "Lifeboat cannot parse the object",
  sendAgain: "Lifeboat could not act on some events: send all of them again",
  busy: "too many reviews are in progress: try again",
  undecided: "Lifeboat could not read the pod; Lifeboat's log says why",
  internalError: "an unexpected error; Lifeboat's log describes it",
  unexpectedError: "an unexpected error",
  noBinding: (name: string) => `expected a Workers VPC binding named ${name} in this Worker's environment`,
  invalidClusters: "expected a JSON object of valid entries; each scheduled run logs what is wrong",

  // Reviews
  notAReview: (expected: string, field: string | undefined, problem: string | undefined) =>
    `not a review of ${expected}: ${field}: ${problem}`,
  aUid: "expected the review's uid",
  aName: "expected a name",
  coreGroup: "expected the core group",
  pods: "expected pods",
  policyGroup: "expected policy/v1 or policy/v1beta1",
  eviction: "expected Eviction",
  deletedByLifeboat: (pod: string, reason: string) =>
    `nothing prevents the deletion of pod "${pod}" (${reason}): this request is refused only because Lifeboat deletes the pod itself`,
  vmiChanges: "the pod's VMI keeps changing",
  actionNotDone: (outcome: string) => `a write for this review has failed (${outcome})`,
  noBody: "no body was received",

  // Work that can fail, for log lines about failures
  reviewingEviction: "reviewing an eviction",
  reviewingDeletion: "reviewing a deletion",
  reconcilingAfterAnswer: "reconciling a VM after the answer to its review",
  reconcilingDescheduled: "reconciling the VMs that the descheduling cycle chose",
  reportingConfiguration: "reporting on the LifeboatConfiguration",
  reportingUndecided: "reporting a review that was left undecided",
  scheduledTick: "the scheduled tick",
  findingCluster: "finding the cluster",

  // Other log lines
  tickMissing:
    "this cluster's scan could not start in time: Lifeboat skips this scan, and the next scan is due within a minute",
  leftOut: (resource: string) => `Lifeboat cannot parse an object in the list of ${resource}, and ignores the object`,
  logUnexpected: "unexpected error",
} as const;
