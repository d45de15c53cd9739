import * as z from 'zod';

const DURATION = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/;

/** As Kubernetes writes them: `5m`, `1h30m`, `0s`. */
export const Duration = z
  .string()
  .regex(DURATION, 'a duration such as 90s, 5m or 1h30m')
  .meta({ examples: ['90s', '5m', '1h30m'] });
export type Duration = z.infer<typeof Duration>;

/** Only for a duration that its schema has accepted. */
export const durationMs = (duration: Duration): number => {
  const [, hours = 0, minutes = 0, seconds = 0] = DURATION.exec(duration) ?? [];
  return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
};
