import * as z from 'zod';

const DURATION = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/;

/** Kubernetes' notation: `5m`, `1h30m`, `0s`. */
export const Duration = z
  .string()
  .regex(DURATION, 'must be a duration such as 90s, 5m or 1h30m')
  .meta({ examples: ['90s', '5m', '1h30m'] });
export type Duration = z.infer<typeof Duration>;

/** A duration for people: `24h`, `1h30m`, `45s`. */
export const durationWords = (seconds: number): string => {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [
    [Math.floor(whole / 3_600), 'h'],
    [Math.floor((whole % 3_600) / 60), 'm'],
    [whole % 60, 's'],
  ] as const;
  return parts.map(([count, unit]) => (count === 0 ? '' : `${count}${unit}`)).join('') || '0s';
};

/** Only for durations that passed the schema. */
export const durationMs = (duration: Duration): number => {
  const [, hours = 0, minutes = 0, seconds = 0] = DURATION.exec(duration) ?? [];
  return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
};
