/** Text in columns. */
export type Cells = readonly string[];

export interface Alignment {
  readonly gap?: string;
  /** The columns whose cells end at the same place: figures. */
  readonly right?: (column: number) => boolean;
}

export function widthsOf(rows: readonly Cells[]): readonly number[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: columns }, (_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
}

/** A line for each row. */
export function aligned(
  rows: readonly Cells[],
  { gap = "  ", right = () => false }: Alignment = {},
): readonly string[] {
  const widths = widthsOf(rows);
  const pad = (cell: string, column: number) =>
    right(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map(pad).join(gap).trimEnd());
}
