/** Chooses the format of an answer from the formats that the client accepts. */
import { fail } from "./status.ts";

export type Representation = "Object" | "Table" | "PartialObjectMetadata";

const SUPPORTED = "application/json";

export function negotiate(accept: string | undefined): Representation {
  for (const clause of (accept ?? "*/*").split(",")) {
    const representation = ofClause(clause);
    if (representation !== undefined) return representation;
  }
  return fail({ reason: "NotAcceptable", accepted: SUPPORTED });
}

const TRANSFORMED: Readonly<Record<string, Representation>> = {
  "as=table": "Table",
  "as=partialobjectmetadata": "PartialObjectMetadata",
  "as=partialobjectmetadatalist": "PartialObjectMetadata",
};

function ofClause(clause: string): Representation | undefined {
  const [mediaType = "", ...parameters] = clause.split(";").map((part) => part.trim().toLowerCase());
  const isJson = mediaType === SUPPORTED || mediaType === "*/*" || mediaType === "application/*";
  if (!isJson) return undefined;
  const as = parameters.find((one) => one.startsWith("as="));
  if (as === undefined) return "Object";
  const known =
    parameters.includes("g=meta.k8s.io") && (parameters.includes("v=v1") || parameters.includes("v=v1beta1"));
  return known ? TRANSFORMED[as] : undefined;
}
