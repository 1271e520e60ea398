/** Defines which objects a list selects. */

export interface Selection {
  readonly namespace?: string | undefined;
  /** If the value is `true`, the label must exist, with any value. */
  readonly labels?: Readonly<Record<string, string | readonly string[] | true>>;
  readonly fields?: Readonly<Record<string, string>>;
  /** The field must have none of these values. */
  readonly unlike?: Readonly<Record<string, readonly string[]>>;
  /** The maximum number of items to read. If absent, all items are read page by page. */
  readonly limit?: number;
}

/** Returns the label selector and the field selector of a request. */
export function selectorsOf({ labels = {}, fields = {}, unlike = {} }: Selection) {
  const ofLabels = Object.entries(labels).map(([key, value]) => {
    if (value === true) return key;
    return typeof value === "string" ? `${key}=${value}` : `${key} in (${value.join(",")})`;
  });
  const ofFields = [
    ...Object.entries(fields).map(([field, value]) => `${field}=${value}`),
    ...Object.entries(unlike).flatMap(([field, values]) => values.map((value) => `${field}!=${value}`)),
  ];
  return {
    ...(ofLabels.length > 0 && { labelSelector: ofLabels.join(",") }),
    ...(ofFields.length > 0 && { fieldSelector: ofFields.join(",") }),
  };
}
