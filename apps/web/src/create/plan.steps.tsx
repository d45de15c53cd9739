import { Icon } from '../ui/ui.js';

/** What is shown of a step, whether the gateway or the browser planned it. */
export interface PlannedStep {
  readonly action: string;
  readonly pool: string | null;
  readonly count: number;
  readonly reason: string;
  readonly nodes: readonly { readonly name: string; readonly reason: string }[];
}

/** What a change of a manifest would do, and what its author should know. */
export const PlanSteps = ({
  steps,
  warnings,
}: {
  readonly steps: readonly PlannedStep[];
  readonly warnings: readonly string[];
}) => (
  <div className="plan-steps">
    {steps.length === 0 ? <p className="dim">Nothing would change.</p> : null}
    <ol>
      {steps.map((step, index) => (
        <li key={`${step.action} ${step.pool ?? ''} ${index}`}>
          <strong>{step.action}</strong> {step.pool ?? ''}{' '}
          {step.count > 0 ? <span className="num">×{step.count}</span> : null}
          <div className="dim">{step.reason}</div>
          {step.nodes.length === 0 ? null : (
            <ul className="dim">
              {step.nodes.map(({ name, reason }) => (
                <li key={name}>
                  {name}: {reason}
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ol>
    {warnings.map((warning) => (
      <p key={warning} className="tone-warning">
        <Icon name="warning" /> {warning}
      </p>
    ))}
  </div>
);
