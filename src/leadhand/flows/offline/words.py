"""The words that the grammar knows, by meaning. Content words that are neither here nor in a tool become gaps."""

from __future__ import annotations

from leadhand.domain.days import DAY_PARTS, MONTHS, NUMBERS, WEEKDAYS


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, which keeps long lists readable."""
    return frozenset(text.split())


# Words without content. Negations are not included, because "not in Paris" must not be ignored.
FUNCTION = word_set(
    """a an the my your his her its our their this that these those some any each all i me you he she it we they them us
    who whom whose which what when where why how is are was were be been being am do does did have has had having will
    would shall should can could may might must let lets let's i'm i'd i'll i've we're we'd we'll we've it's that's
    what's there's where's how's who's and or but nor plus also so then as with about from to via by of in at on for
    into onto near around across within inside than one ones more please thanks thank hi hello hey dear ok okay well too
    just kindly now well ahead tell give show find check look looking get gets getting fetch list know see say want
    wants need needs like help provide display return search again out up good following respectively ditto going use
    using question questions asking wondering"""
)
SALUTATIONS = word_set("hi hello hey dear thanks thank regards cheers")
GREETINGS = SALUTATIONS | word_set(
    "good morning afternoon evening day night bye goodbye yes sure great best kind sincerely very much many welcome "
    "greetings folks everyone team sir madam right alright"
)
STATEMENTS = word_set("i'm we're i'll we'll i've we've")

WEATHER = word_set(
    "weather forecast forecasts temperature temperatures rainy raining rains snowy snowing snows sunny sunshine cloudy "
    "overcast windy humid humidity drizzle drizzling thunderstorm thunderstorms stormy foggy sleet"
)
# These ask for the weather only if no other word of the clause has another meaning.
WEATHER_IF_ALONE = word_set(
    "rain snow hot cold warm chilly freezing mild wind winds degrees storm storms fog hail frost wet dry sun clouds "
    "wear umbrella raincoat sunscreen coat jacket sweater scarf gloves boots"
)
WEATHER_DETAILS = word_set(
    "there if whether bring take pack carry expect expected outside outdoors current local conditions compare"
)

ROUTE = word_set("direction directions route routes distance distances navigate navigation")
MOVEMENT = word_set(
    "how get getting go going travel travelling traveling trip journey way commute reach take long far come coming "
    "leaving head heading bring ride move"
)
# What a statement about places and days may say besides: "I live in Paris", "Travel advice for Paris: …".
BACKGROUND = MOVEMENT | word_set(
    "live living stay staying trip holiday vacation visit advice plan plans tips information info request"
)
ROUTE_DETAILS = word_set("fast fastest quick quickest quickly best shortest on onwards") | NUMBERS.keys()

# The names of each mode, in a request and in a tool's schema.
MODE_NAMES = {
    "drive": word_set("drive driving drives car auto"),
    "walk": word_set("walk walking walks foot hike hiking pedestrian"),
    "bicycle": word_set("bicycle bike bikes biking cycle cycling bicycling"),
}
MODES = {name: mode for mode, names in MODE_NAMES.items() for name in names}
OTHER_TRANSPORT = word_set(
    "train trains bus buses tram trams metro subway tube underground plane planes fly flying flight flights ferry "
    "ferries boat ship taxi cab uber transit rail motorcycle motorbike scooter coach airplane"
)
UNITS = {
    **dict.fromkeys(("fahrenheit", "imperial", "°f"), "imperial"),
    **dict.fromkeys(("celsius", "centigrade", "metric", "°c"), "metric"),
}
UNIT_NAMES = {"imperial": word_set("imperial fahrenheit f us"), "metric": word_set("metric celsius c si")}
ALIASES = UNIT_NAMES | MODE_NAMES
"""What units and means of transport are called in the schemas of tools."""

BESIDE_THERE = word_set("is are was were will be if any")
SEPARATORS = word_set("and then also plus or but nor vs versus")
WHERE = word_set("in at for of near around over across within inside outside into")
WAY = word_set("from to toward towards via through between")
# With one of these, a part of a clause can mean the opposite of the whole: "pay 30 to Bob if he agrees".
CONDITIONS = word_set("if unless whether not no never until except without only when either")
# Words between a tool's name and its arguments.
LEADS = word_set("for of about on in at with from to by within inside named called")
ARTICLES = word_set("the a an our my")

PLACE_NOUNS = word_set(
    "airport station park beach city centre center downtown street square bridge museum university hospital tower "
    "castle island lake mountain harbour harbor port village town old hotel restaurant cathedral palace market campus "
    "terminal county region valley river bay hill hills zoo stadium central avenue road"
)
PARTICLES = word_set(
    "of de la le les du des del della di da do dos das am an der den dem und upon on sur sous y el al en aux the"
)
# Words that can begin a name if another capitalised word follows: Long Beach.
NAMES_AFTER_ALL = word_set("long good best one two three seven ten")
# Two-word names begin with these; other pairs before a bare "to" may be a verb and a name ("Introduce Anna to Bob").
NAME_STARTS = word_set(
    "new san los las saint st santa el la le les mount cape port fort buenos rio sao hong tel abu kuala ho addis den"
)

KNOWN: frozenset[str] = FUNCTION.union(
    *(WEATHER, WEATHER_IF_ALONE, WEATHER_DETAILS, ROUTE, MOVEMENT, OTHER_TRANSPORT, DAY_PARTS, SEPARATORS, WHERE, WAY),
    *(list(MODES), list(UNITS), list(NUMBERS), [name.lower() for name in (*WEEKDAYS, *MONTHS)]),
    word_set("here both cities towns places today tonight tomorrow yesterday weekend week days"),
)
"""A place cannot begin with one of these, and a place in lower case ends before one."""

# Verbs for the names of subtasks: "find_hotels".
VERBS = word_set("find search look check list get show compare fetch")
