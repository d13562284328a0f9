"""Is it a kernel? Certificates with proofs by the closure rules, counter-examples, and checks of Gram matrices."""

from mercer.validity.certificates import Certificate as Certificate
from mercer.validity.certificates import certify as certify
from mercer.validity.counterexamples import find_counterexample as find_counterexample
from mercer.validity.grams import GramReport as GramReport
from mercer.validity.grams import Repair as Repair
from mercer.validity.grams import check_gram as check_gram
from mercer.validity.grams import repair as repair
from mercer.validity.proofs import Step as Step
from mercer.validity.witness import CounterExample as CounterExample
