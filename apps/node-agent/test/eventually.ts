const POLL_MS = 10;

/** Waits until the condition holds; fails with its last words after the deadline. */
export const eventually = async (condition: () => void | Promise<void>, deadlineMs = 10_000): Promise<void> => {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await condition();
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MS);
    });
  }
};
