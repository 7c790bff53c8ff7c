//! The simulated GPU's timeline: when each operation starts and ends in simulated time.
