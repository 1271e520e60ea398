/** Events. The API versions v1 and events.k8s.io/v1 serve the same objects, but some fields have different names. */
import { isDeepStrictEqual } from "node:util";
import { invalidValue, requiredValue, unless } from "../field-errors.ts";
import { type KubeObject, fieldAt, stringAt, viewAs, textOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { builtIn } from "./built-in.ts";
import { ageOf } from "./columns.ts";

/** Maps field names in events.k8s.io/v1 to field names in core/v1. */
const RENAMED: Readonly<Record<string, string>> = {
  regarding: "involvedObject",
  note: "message",
  reportingController: "reportingComponent",
  deprecatedSource: "source",
  deprecatedFirstTimestamp: "firstTimestamp",
  deprecatedLastTimestamp: "lastTimestamp",
  deprecatedCount: "count",
};

const CORE_NAMES = Object.fromEntries(Object.entries(RENAMED).map(([modern, core]) => [core, modern]));

function rename(object: KubeObject, names: Readonly<Record<string, string>>, apiVersion: string): KubeObject {
  const entries = Object.entries(object).map(([field, value]) => [names[field] ?? field, value]);
  return { ...viewAs<KubeObject>(Object.fromEntries(entries)), apiVersion };
}

const CELLS = {
  "Last Seen": (event: KubeObject, now: Date) => ageOf(lastSeen(event), now),
  Object: regardingOf,
  Source: (event: KubeObject) => stringAt(event, "source.component") || stringAt(event, "reportingComponent"),
  Message: (event: KubeObject) => stringAt(event, "message").trim(),
  "First Seen": (event: KubeObject, now: Date) =>
    ageOf(event.firstTimestamp ?? event.eventTime ?? lastSeen(event), now),
};

const CORE_FIELDS = ["reason", "type", "reportingComponent"];
const REGARDING = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

const CORE_EVENTS = builtIn("Event", {
  cells: CELLS,
  model: "CoreV1Event",
  nameRule: "path",
  validate: validateEvent,
  selectableFields: {
    ...Object.fromEntries(CORE_FIELDS.map((field) => [field, field])),
    ...Object.fromEntries(REGARDING.map((field) => [`involvedObject.${field}`, `involvedObject.${field}`])),
    source: "source.component",
  },
});

const MODERN_EVENTS = builtIn("Event", {
  cells: CELLS,
  group: "events.k8s.io",
  model: "EventsV1Event",
  validate: (event, previous) => [
    ...validateEvent(event),
    ...(previous === undefined ? validateNew(event) : validateChange(event, previous)),
  ],
  selectableFields: {
    reason: "reason",
    type: "type",
    reportingController: "reportingComponent",
    ...Object.fromEntries(REGARDING.map((field) => [`regarding.${field}`, `involvedObject.${field}`])),
  },
  toServed: (stored) => rename(stored, CORE_NAMES, "events.k8s.io/v1"),
  toStored: (served) => rename(served, RENAMED, "v1"),
});

function validateEvent(event: KubeObject): readonly FieldError[] {
  const { namespace = "" } = event.metadata;
  const about = stringAt(event, "involvedObject.namespace");
  const modern = Boolean(event.eventTime);
  const homes = about === "" ? ["default", modern ? "kube-system" : ""] : [modern ? namespace : about];
  const elsewhere = invalidValue("involvedObject.namespace", about, "does not match event.namespace");
  const texts = modern ? Object.entries(LIMITS) : [];
  return [...unless(homes.includes(namespace), elsewhere), ...texts.flatMap((one) => textErrors(event, ...one))];
}

/** The maximum lengths of texts in Events with an eventTime. Only the message may be empty. */
const LIMITS = { reportingComponent: Infinity, reportingInstance: 128, action: 128, reason: 128, message: 1024 };

function textErrors(event: KubeObject, name: string, limit: number): readonly FieldError[] {
  const field = name === "reportingComponent" ? "reportingController" : name;
  const text = stringAt(event, name);
  if (text === "") return unless(name === "message", requiredValue(field));
  return unless(Buffer.byteLength(text) <= limit, invalidValue(field, "", `can have at most ${limit} characters`));
}

const DEPRECATED = ["firstTimestamp", "lastTimestamp", "count"];

function validateNew(event: KubeObject): readonly FieldError[] {
  const { eventTime, type } = event;
  const hasSource = stringAt(event, "source.component") !== "" || stringAt(event, "source.host") !== "";
  const unwanted = [...DEPRECATED.filter((field) => Boolean(event[field])), ...(hasSource ? ["source"] : [])];
  return [
    ...seriesErrors(event),
    ...unless(Boolean(eventTime), requiredValue("eventTime")),
    ...unless(type === "Normal" || type === "Warning", invalidValue("type", "", `has invalid value: ${textOf(type)}`)),
    ...unwanted.map((field) => invalidValue(field, "", "needs to be unset")),
  ];
}

function seriesErrors({ series }: KubeObject): readonly FieldError[] {
  if (series === undefined) return [];
  return [
    ...unless(Number(fieldAt(series, "count")) >= 2, invalidValue("series.count", "", "should be at least 2")),
    ...unless(Boolean(fieldAt(series, "lastObservedTime")), requiredValue("series.lastObservedTime")),
  ];
}

const FIXED = ["involvedObject", "source", ...DEPRECATED, "type", "eventTime", "related", ...Object.keys(LIMITS)];

function validateChange(event: KubeObject, previous: KubeObject): readonly FieldError[] {
  const changed = (field: string): boolean => !isDeepStrictEqual(event[field], previous[field]);
  const errors = FIXED.filter(changed).map((field) => invalidValue(field, event[field], "field is immutable"));
  return changed("series") ? [...seriesErrors(event), ...errors] : errors;
}

function lastSeen(event: KubeObject): unknown {
  return event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? event.metadata.creationTimestamp;
}

function regardingOf(event: KubeObject): string {
  return `${stringAt(event, "involvedObject.kind").toLowerCase()}/${stringAt(event, "involvedObject.name")}`;
}

export const EVENTS = [CORE_EVENTS, MODERN_EVENTS];
