/**
 * The CEL variable `authorizer`, which checks the user's permissions. Upstream: apiserver/pkg/cel/library/authz.go.
 * Paths, other service accounts and selectors are not supported.
 */
import type { Environment } from "@marcbachmann/cel-js";

export interface AccessAsked {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

interface Decided {
  readonly allowed: boolean;
  readonly reason: string;
}

export type Decide = (asked: AccessAsked) => Decided;

export class Authorizer {
  readonly decide: Decide;

  constructor(decide: Decide) {
    this.decide = decide;
  }
}

class GroupCheck {
  readonly decide: Decide;
  readonly group: string;

  constructor({ decide }: Authorizer, group: string) {
    this.decide = decide;
    this.group = group;
  }
}

class ResourceCheck {
  readonly decide: Decide;
  readonly asked: Omit<AccessAsked, "verb">;

  constructor(decide: Decide, asked: Omit<AccessAsked, "verb">) {
    if (asked.resource.trim() === "") throw new Error("resource must not be empty");
    this.decide = decide;
    this.asked = asked;
  }

  with(more: Partial<AccessAsked>): ResourceCheck {
    return new ResourceCheck(this.decide, { ...this.asked, ...more });
  }
}

class Decision {
  readonly decided: Decided;

  constructor(decided: Decided) {
    this.decided = decided;
  }
}

const TYPE = "kubernetes.authorization.";

/** Declares the types of `authorizer` and their functions. Returns the type of the variable. */
export function declareAuthorizer(environment: Environment): string {
  const types = { Authorizer, GroupCheck, ResourceCheck, Decision };
  for (const [name, ctor] of Object.entries(types)) environment.registerType(`${TYPE}${name}`, { ctor, fields: {} });
  const nothing = { subresource: "", namespace: "", name: "" };
  const functions: readonly (readonly [string, (...given: never[]) => unknown])[] = [
    ["Authorizer.group(string): GroupCheck", (one: Authorizer, group: string) => new GroupCheck(one, group)],
    [
      "GroupCheck.resource(string): ResourceCheck",
      ({ decide, group }: GroupCheck, resource: string) => new ResourceCheck(decide, { ...nothing, group, resource }),
    ],
    [
      "ResourceCheck.subresource(string): ResourceCheck",
      (check: ResourceCheck, subresource: string) => check.with({ subresource }),
    ],
    [
      "ResourceCheck.namespace(string): ResourceCheck",
      (check: ResourceCheck, namespace: string) => check.with({ namespace }),
    ],
    ["ResourceCheck.name(string): ResourceCheck", (check: ResourceCheck, name: string) => check.with({ name })],
    [
      "ResourceCheck.check(string): Decision",
      ({ decide, asked }: ResourceCheck, verb: string) => new Decision(decide({ ...asked, verb })),
    ],
    ["Decision.allowed(): bool", ({ decided }: Decision) => decided.allowed],
    ["Decision.reason(): string", ({ decided }: Decision) => decided.reason],
    ["Decision.errored(): bool", () => false],
    ["Decision.error(): string", () => ""],
  ];
  for (const [signature, handler] of functions) {
    const full = signature.replaceAll(/\b(Authorizer|GroupCheck|ResourceCheck|Decision)\b/g, `${TYPE}$1`);
    environment.registerFunction(full, handler);
  }
  return `${TYPE}Authorizer`;
}
