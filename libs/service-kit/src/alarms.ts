/** Health checks that `/readyz` reports without affecting readiness. */
export class Alarms {
  private readonly reports = new Map<string, () => string>();

  /** `report` returns `ok`, or a sentence about the problem. */
  add(name: string, report: () => string): void {
    this.reports.set(name, report);
  }

  report(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.reports].map(([name, report]) => [name, report()]));
  }
}
