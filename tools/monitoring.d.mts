import type * as z from 'zod';

export interface RulesFile {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly for?: string;
      readonly labels: { readonly severity: string };
      readonly annotations: { readonly summary: string; readonly action: string; readonly runbook: string };
    }[];
  }[];
}

export interface RuleTestsFile {
  readonly tests: readonly {
    readonly name: string;
    readonly input_series: readonly { readonly series: string; readonly values: string }[];
    readonly alert_rule_test: readonly {
      readonly eval_time: string;
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }[];
  }[];
}

export interface DashboardFile {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly {
    readonly id: number;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  }[];
}

export declare const Rules: z.ZodType<RulesFile>;
export declare const RuleTests: z.ZodType<RuleTestsFile>;
export declare const Dashboard: z.ZodType<DashboardFile>;
export declare const dashboardExpressions: (dashboard: DashboardFile) => readonly string[];
export declare const metricsIn: (expr: string) => readonly string[];
