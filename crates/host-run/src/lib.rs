//! One run from turn to reply: a pure machine and a thin driver.
